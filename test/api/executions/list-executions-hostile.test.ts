import { hash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { executionFields } from '../../../src/domains/executions/filters/execution-fields.ts';
import { expandPrompts } from '../../../src/domains/executions/filters/expand-prompts.ts';
import { findPromptMentions } from '../../../src/domains/prompt-links/index.ts';
import { newId } from '../../../src/lib/ids.ts';
import { expectProblem, newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import { anExecution, connectExecutions, walkExecutions } from '../../support/executions.ts';
import { listExecutions } from '../../support/traces.ts';

let api: TestApi;
let project: ProjectOfTest;
let executions: ReturnType<typeof connectExecutions>;

beforeAll(async () => {
  api = await startApi();
  executions = connectExecutions(api);
  project = await newProject(api);
});
afterAll(async () => {
  await executions.close();
  await api.close();
});

const nul = String.raw`\u0000`;
const loneSurrogate = String.raw`\ud800`;

describe('text that cannot be stored in a filter', () => {
  const places = [
    (bad: string) => `{"field":"prompt_id","op":"eq","value":"a${bad}b"}`,
    (bad: string) => `{"field":"prompt_id","op":"in","value":["x","${bad}"]}`,
    (bad: string) => `{"field":"name","op":"contains","value":"${bad}"}`,
    (bad: string) => `{"field":"attr.a${bad}","op":"eq","value":"x"}`,
    (bad: string) => `{"field":"attr.a","op":"starts_with","value":"${bad}"}`,
    (bad: string) => `{"not":{"or":[{"field":"tag","op":"in","value":["${bad}"]}]}}`,
  ];
  test.each(places.flatMap((place) => [place(nul), place(loneSurrogate)]))(
    '%s is 400 invalid_filter',
    async (filter) => {
      expectProblem(await listExecutions(api, project, { filter }), 400, 'invalid_filter');
    },
  );
});

describe('odd values of parameters', () => {
  const texts = ['a\u0000b', '\u0000', '%', "';--", '\\', '\u{10FFFF}'];
  const numbers = ['-0', '1e400', '1e999999', '-1', '9'.repeat(300), '18446744073709551616', 'NaN', '0x10', ' 1', ''];
  const times = ['0000-01-01T00:00:00Z', '10000-01-01T00:00:00Z', '9999-12-31T23:59:59-23:59', '2026-02-30T00:00:00Z'];
  const names = {
    text: [
      'status',
      'name',
      'model',
      'provider',
      'prompt_id',
      'session_id',
      'user_id',
      'environment',
      'service',
      'tag',
    ].concat(['attr.k', 'attr.\u0000', 'q', 'filter', 'sort', 'fields', 'cursor']),
    number: [
      'prompt_version',
      'min_duration_ms',
      'max_duration_ms',
      'min_cost',
      'max_cost',
      'min_tokens',
      'max_tokens',
    ].concat(['limit', 'include_total', 'has_error', 'has_feedback']),
    time: ['from', 'to'],
  };
  const cases = [
    ...names.text.flatMap((name) => [...texts, ...numbers].map((value) => [name, value] as const)),
    ...names.number.flatMap((name) => [...texts, ...numbers].map((value) => [name, value] as const)),
    ...names.time.flatMap((name) => [...times, ...texts].map((value) => [name, value] as const)),
  ];

  test('are answered or refused, and never a fault of ours', async () => {
    const wrong: string[] = [];
    for (const [name, value] of cases) {
      const { status, text } = await listExecutions(api, project, { [name]: value });
      if (status !== 200 && status !== 400) wrong.push(`${name}=${value}: ${status} ${text.slice(0, 200)}`);
    }
    expect(wrong).toEqual([]);
  });

  const fields = ['trace_id', 'started_at', 'duration_ms', 'span_count', 'has_error', 'cost', 'total_tokens', 'tag'];
  const values = [
    '-0',
    '0',
    '1e400',
    '-1e400',
    '9007199254740993',
    '1e15',
    '"0000-01-01T00:00:00Z"',
    'null',
    '{}',
    '"-0"',
  ].concat(['"10000-01-01T00:00:00Z"', '"9999-12-31T23:59:59Z"', '[[]]', 'true', '1e-400']);

  test('of fields in a filter are answered or refused, and never a fault of ours', async () => {
    const wrong: string[] = [];
    for (const field of [...fields, 'prompt_id', 'prompt_version', 'attr.k']) {
      for (const value of values) {
        for (const op of ['eq', 'in', 'gte']) {
          const filter = `{"field":"${field}","op":"${op}","value":${op === 'in' ? `[${value}]` : value}}`;
          const { status, text } = await listExecutions(api, project, { filter });
          if (status !== 200 && status !== 400) wrong.push(`${filter}: ${status} ${text.slice(0, 200)}`);
        }
      }
    }
    expect(wrong).toEqual([]);
  });
});

describe('a request that asks for much', () => {
  const leaf = (field: string, value: string) => ({ field, op: 'eq', value });
  const filterOf = (count: number, field: string) =>
    JSON.stringify({ or: Array.from({ length: count }, (_, index) => leaf(field, `${index}`)) });

  test('may look into spans ten times, filter and parameters together', async () => {
    const nine = filterOf(9, 'attr.k');
    expect((await listExecutions(api, project, { filter: nine, q: 'one' })).status).toBe(200);
    const answer = await listExecutions(api, project, { filter: nine, q: 'one', 'attr.x': 'y' });
    expectProblem(answer, 400, 'invalid_filter');
    expect(answer.text).toContain('at most 10');
  });

  test('with eleven attributes as parameters is 400 invalid_parameter', async () => {
    const answer = await listExecutions(api, project, {
      'attr.x': Array.from({ length: 11 }, (_, index) => `${index}`),
    });
    expectProblem(answer, 400, 'invalid_parameter');
  });

  test('may name a hundred prompts', async () => {
    const filterOfIds = (count: number) =>
      JSON.stringify({ field: 'prompt_id', op: 'in', value: Array.from({ length: count }, newPromptId) });
    expect((await listExecutions(api, project, { filter: filterOfIds(100) })).status).toBe(200);
    expectProblem(
      await listExecutions(api, project, { filter: filterOfIds(100), prompt_id: 'one' }),
      400,
      'invalid_filter',
    );
    expectProblem(await listExecutions(api, project, { filter: filterOfIds(101) }), 400, 'invalid_filter');
  });

  test('ten conditions on feedback are allowed; eleven conditions on feedback is 400 invalid_filter', async () => {
    const filterOf = (count: number) =>
      JSON.stringify({ and: Array.from({ length: count }, () => ({ field: 'has_feedback', op: 'eq', value: true })) });
    expect((await listExecutions(api, project, { filter: filterOf(10) })).status).toBe(200);
    expectProblem(await listExecutions(api, project, { filter: filterOf(11) }), 400, 'invalid_filter');
  });

  test('may name a prompt of a thousand texts nineteen times, and each text is sent once', async () => {
    const own = await newProject(api);
    const ids = await Promise.all([promptOfManyTexts(own), promptOfManyTexts(own)]);
    const mentionOf = (id: string) => ({
      id: '',
      name: '',
      version: 0,
      calls: 1,
      key: `sha256:${textHash(id, 1_000)}`,
    });
    await executions.store(ids.map((id) => anExecution(own, { name: id, prompts: [mentionOf(id)] })));
    const found = async (filter: object) => {
      const { status, body, text } = await listExecutions(api, own, { filter: JSON.stringify(filter) });
      expect(status, text).toBe(200);
      return body.data.map(({ name }) => name).toSorted();
    };
    const [first = '', second = ''] = ids;
    const or = Array.from({ length: 19 }, () => leaf('prompt_id', first));
    expect(await found({ or })).toEqual([first]);
    const filter = JSON.stringify({ or: [...or, leaf('prompt_id', first)] });
    expectProblem(await listExecutions(api, own, { filter }), 400, 'invalid_filter');
    const { slug } = await api.postgres('prompts').where({ id: first }).first<{ slug: string }>('slug');
    expect(await found(leaf('prompt_id', slug))).toEqual([first]);
    expect(await found({ field: 'prompt_id', op: 'in', value: ids })).toEqual([...ids].sort());
    expect(await found({ field: 'prompt_id', op: 'nin', value: [second] })).toEqual([first]);
    expect(await found({ and: [leaf('prompt_id', first), { not: leaf('prompt_id', second) }] })).toEqual([first]);
  });

  test('looks up a hundred prompts in as many statements as one', async () => {
    const statementsOf = async (count: number) => {
      const seen: string[] = [];
      const listen = ({ sql }: { sql: string }) => seen.push(sql);
      api.postgres.on('query', listen);
      const ids = Array.from({ length: count }, newPromptId);
      const condition = { field: executionFields.prompt_id, op: 'in', values: ids } as const;
      await expandPrompts({ any: ids.map(() => condition).slice(0, 2) }, (all) =>
        findPromptMentions(api.postgres, project.id, all),
      );
      api.postgres.off('query', listen);
      return seen.length;
    };
    expect(await statementsOf(100)).toBe(await statementsOf(1));
  });
});

const newPromptId = () => newId('prm');

/** Creates a prompt with a thousand more versions, whose texts nobody needs. */
async function promptOfManyTexts({ id: projectId, key }: ProjectOfTest): Promise<string> {
  const body = { name: newPromptId(), type: 'text', template: 'hello' };
  const params = { project_id: projectId };
  const { body: prompt } = await api.call<{ id: string }>('createPrompt', { params, key, body });
  const [first] = await api.postgres('prompt_versions').where({ prompt_id: prompt.id });
  const versions = Array.from({ length: 1_000 }, (_, index) => index + 2);
  await api
    .postgres('prompt_versions')
    .insert(versions.map((version) => ({ ...first, version, template_hash: textHash(prompt.id, version) })));
  return prompt.id;
}

const textHash = (promptId: string, version: number) => hash('sha256', `${promptId} ${version}`);

describe('an execution at the end of what numbers can say', () => {
  test.each(['duration_ms', '-duration_ms', 'cost', '-cost'])('is walked past by sort=%s', async (sort) => {
    const own = { ...(await newProject(api)) };
    const longest = anExecution(own, { startUnixNano: 1n, endUnixNano: 2n ** 64n - 1n, costNanoUsd: 2n ** 63n + 5n });
    const half = anExecution(own, { startUnixNano: 2n, endUnixNano: 2n ** 63n + 2n, costNanoUsd: 2n ** 63n - 1n });
    const others = Array.from({ length: 5 }, (_, index) => anExecution(own, { costNanoUsd: BigInt(index) }));
    await executions.store([longest, half, ...others]);
    const walked = await walkExecutions(api, own, { sort, limit: 1, from: '1970-01-01T00:00:00Z' });
    expect(walked.map(({ trace_id }) => trace_id).sort()).toEqual(
      [longest, half, ...others].map(({ traceId }) => traceId).sort(),
    );
    const extremes = sort.startsWith('-') ? walked.slice(0, 2) : walked.slice(-2);
    expect(extremes.map(({ trace_id }) => trace_id).sort()).toEqual([longest.traceId, half.traceId].sort());
  });

  test('is found by its least duration and cost, and not by the most', async () => {
    const own = await newProject(api);
    const longest = anExecution(own, { startUnixNano: 1n, endUnixNano: 2n ** 64n - 1n, costNanoUsd: 2n ** 63n + 5n });
    await executions.store([longest]);
    const found = async (query: Record<string, string>) => {
      const { status, body, text } = await listExecutions(api, own, { from: '1970-01-01T00:00:00Z', ...query });
      expect(status, text).toBe(200);
      return body.data.length;
    };
    expect(await found({ min_duration_ms: '1' })).toBe(1);
    expect(await found({ min_duration_ms: '18446744073709' })).toBe(1);
    expect(await found({ max_duration_ms: '1' })).toBe(0);
    expect(await found({ max_duration_ms: '18446744073710' })).toBe(1);
    expect(await found({ min_cost: '1' })).toBe(1);
    expect(await found({ max_cost: '999999999' })).toBe(0);
  });
});
