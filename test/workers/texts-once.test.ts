import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { type ClickHouse, connectClickHouse } from '../../src/stores/clickhouse/client.ts';
import { readRows } from '../../src/stores/clickhouse/statements.ts';
import { newProject, type ProjectOfTest, type Query, startApi, type TestApi } from '../support/api.ts';
import { aSpan } from '../support/spans.ts';
import { getExecution, listExecutions, sendSpans, untilListed } from '../support/traces.ts';

const question = 'What does an order of twelve lamps cost?';
const answer = 'Twelve lamps cost 144 euros, delivery included.';
const variable = 'gen_ai.prompt.variable.question';

let api: TestApi;
let clickhouse: ClickHouse;
let project: ProjectOfTest;
beforeAll(async () => {
  api = await startApi();
  clickhouse = connectClickHouse(inject('clickhouseUrl'));
  project = await newProject(api);
});
afterAll(async () => {
  await clickhouse.close();
  await api.close();
});

/** Stores a span, and returns its trace id. */
async function store(attributes: Readonly<Record<string, string>>): Promise<string> {
  const { traceId = '', ...span } = aSpan({ attributes });
  await sendSpans(api, project.key, [{ ...span, traceId }]);
  await untilListed(api, project, traceId);
  return traceId;
}

async function shownSpan(traceId: string) {
  const { body } = await getExecution(api, project, traceId, { include: 'input,output,attributes' });
  const [span] = body.spans;
  return span && { input: span.input, output: span.output, attributes: span.attributes };
}

async function storedRow(traceId: string) {
  const rows = await readRows(clickhouse, {
    query: `SELECT mapKeys(attributes_string) AS keys, input_attribute, output_attribute, input_preview FROM spans FINAL
            WHERE project_id = {project:String} AND trace_id = unhex({traceId:String})`,
    query_params: { project: project.id, traceId },
    format: 'JSONEachRow',
  });
  return rows[0];
}

describe('a text that is an attribute and the input or the output of its span', () => {
  const sent = { 'input.value': question, 'output.value': answer, [variable]: question, plan: 'pro' };

  test('is stored once and shown in both', async () => {
    const traceId = await store(sent);
    expect(await storedRow(traceId)).toEqual({
      keys: [variable, 'plan'],
      input_attribute: 'input.value',
      output_attribute: 'output.value',
      input_preview: question,
    });
    expect(await shownSpan(traceId)).toEqual({ input: question, output: answer, attributes: sent });
  });

  test('is stored once if it is JSON of messages', async () => {
    const messages = JSON.stringify([{ role: 'user', parts: [{ type: 'text', content: question }] }]);
    const traceId = await store({ 'gen_ai.operation.name': 'chat', 'gen_ai.input.messages': messages });
    expect(await storedRow(traceId)).toMatchObject({ input_attribute: 'gen_ai.input.messages' });
    expect(await shownSpan(traceId)).toMatchObject({
      input: JSON.parse(messages),
      attributes: { 'gen_ai.input.messages': messages },
    });
  });

  test('is shown with every digit of its numbers', async () => {
    const sent = '{"order": 12345678901234567890, "prices": [0.10, 1e3]}';
    const traceId = await store({ 'gen_ai.tool.call.arguments': sent, 'gen_ai.operation.name': 'execute_tool' });
    const response = await fetch(`${api.url}/api/projects/${project.id}/executions/${traceId}?include=input`, {
      headers: { 'X-API-Key': project.key },
    });
    expect(await response.text()).toContain(`"input":${sent}`);
  });

  test('stays in both if the input has another form', async () => {
    const messages = `[{"role": "user", "content": "${question}"}]`;
    const traceId = await store({ 'gen_ai.operation.name': 'chat', 'gen_ai.input.messages': messages });
    expect(await storedRow(traceId)).toMatchObject({ input_attribute: '' });
    expect(await shownSpan(traceId)).toMatchObject({ attributes: { 'gen_ai.input.messages': messages } });
  });

  test('is stored in both if it is short', async () => {
    const attributes = { 'input.value': 'x'.repeat(20), 'output.value': '' };
    const traceId = await store(attributes);
    expect(await storedRow(traceId)).toMatchObject({ keys: ['input.value', 'output.value'], input_attribute: '' });
    expect(await shownSpan(traceId)).toMatchObject({ input: 'x'.repeat(20), attributes });
  });

  test('is the input and the output of a span that names it for both', async () => {
    const attributes = { 'input.value': question, 'output.value': question };
    const traceId = await store(attributes);
    expect(await storedRow(traceId)).toMatchObject({ keys: [], output_attribute: 'output.value' });
    expect(await shownSpan(traceId)).toEqual({ input: question, output: question, attributes });
  });

  const tree = (filter: object) => ({ filter: JSON.stringify(filter) });
  const condition = (field: string, op: string, value: unknown) => tree({ field: `attr.${field}`, op, value });

  test.each<[Query, number]>([
    [{ 'attr.input.value': question }, 1],
    [{ 'attr.output.value': answer }, 1],
    [{ 'attr.output.value': question }, 0],
    [{ [`attr.${variable}`]: question }, 1],
    [{ 'attr.input.value': '' }, 0],
    [{ q: 'lamps' }, 1],
    [condition('input.value', 'exists', true), 2],
    [condition('input.value', 'exists', false), 0],
    [condition('input.value', 'contains', 'twelve'), 1],
    [condition('output.value', 'starts_with', 'Twelve'), 1],
    [condition('input.value', 'gt', 6), 1],
    [condition('input.value', 'ne', question), 1],
    [condition('nothing', 'exists', true), 0],
  ])('is found by %j', async (query, count) => {
    project = await newProject(api);
    await store(sent);
    await store({ 'input.value': '0000000000000000000000007', plan: 'free' });
    const { body } = await listExecutions(api, project, query);
    expect(body.data.length).toBe(count);
  });
});
