import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { type ClickHouse, connectClickHouse } from '../../src/stores/clickhouse/client.ts';
import { readRows } from '../../src/stores/clickhouse/statements.ts';
import { newProject, type ProjectOfTest, startApi, type TestApi } from '../support/api.ts';
import { aSpan, newSpanId, newTraceId, nowNano } from '../support/spans.ts';
import { listExecutions, sendSpans, untilListed } from '../support/traces.ts';
import { until } from '../support/until.ts';

const long = 'x'.repeat(15_000);
/** Characters of an identifier (`limits.identifierCharsMax`). */
const longestInDictionary = 1_024;
/** Identifiers of a call, or of an error. */
const identifiersMax = 5;

/** Attributes that become columns, in several conventions. */
const named = [
  ...['gen_ai.operation.name', 'gen_ai.provider.name', 'gen_ai.request.model', 'gen_ai.response.model', 'error.type'],
  ...['openinference.span.kind', 'promptlane.span.kind', 'promptlane.prompt.id', 'promptlane.prompt.version'],
  ...['gen_ai.prompt.name', 'gen_ai.prompt.version', 'langfuse.trace.tags', 'langfuse.environment', 'langfuse.release'],
  ...['langfuse.prompt.name', 'langfuse.prompt.version', 'gen_ai.system', 'gen_ai.agent.name', 'gen_ai.tool.name'],
];
const ofProcess = ['service.name', 'service.version', 'deployment.environment.name', 'host.name'];

const attributesOf = (names: readonly string[]) =>
  names.map((key) => ({ key, value: { stringValue: `${key} ${long}` } }));
const ofAnyKey = [
  ...[{ stringValue: 'a' }, { intValue: '1' }, { doubleValue: 0.5 }, { boolValue: true }, { bytesValue: 'AAAA' }],
].map((value, index) => ({ key: `${index} ${long}`, value }));
const origin = {
  resource: { attributes: attributesOf(ofProcess) },
  scope: { name: `scope ${long}`, version: `version ${long}` },
};

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

async function sendLongTexts(): Promise<string> {
  const traceId = newTraceId();
  const ids = { traceId, spanId: newSpanId() };
  const times = { startTimeUnixNano: String(nowNano(-100)), endTimeUnixNano: String(nowNano()) };
  const attributes = [...attributesOf(named), ...ofAnyKey];
  const span = { ...ids, ...times, name: `name ${long}`, attributes };
  const { status } = await post('/api/v1/traces', {
    resourceSpans: [{ resource: origin.resource, scopeSpans: [{ scope: origin.scope, spans: [span] }] }],
  });
  const record = { ...ids, timeUnixNano: String(nowNano()), eventName: `event ${long}`, severityText: `text ${long}` };
  const logs = await post('/api/v1/logs', {
    resourceLogs: [{ resource: origin.resource, scopeLogs: [{ scope: origin.scope, logRecords: [record] }] }],
  });
  expect([status, logs.status]).toEqual([200, 200]);
  return traceId;
}

function post(path: string, body: unknown): Promise<Response> {
  return fetch(api.url + path, {
    method: 'POST',
    headers: { 'X-API-Key': project.key, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
}

interface DictionaryColumn {
  table: string;
  name: string;
  type: string;
}

/** SQL for the length of the longest text of a column. */
function longestIn({ name, type }: DictionaryColumn): string {
  if (type.startsWith('LowCardinality(')) return `length(${name})`;
  if (type.startsWith('Map(')) return `arrayMax(key -> length(key), mapKeys(${name}))`;
  return type.startsWith('Array(LowCardinality(')
    ? `arrayMax(text -> length(text), ${name})`
    : `length(toString(${name}))`;
}

/** A dictionary is read by everybody who reads a part, and has up to 8,192 texts. */
test('a text without a limit of length is in no dictionary that all projects share', async () => {
  const traceId = await sendLongTexts();
  await untilListed(api, project, traceId);
  const columns = await readRows<DictionaryColumn>(clickhouse, {
    query: `SELECT table, name, type FROM system.columns
            WHERE database = currentDatabase() AND type LIKE '%LowCardinality%' AND name != 'project_id'`,
    format: 'JSONEachRow',
  });
  expect(columns.length).toBeGreaterThan(20);
  const ofProject = { query_params: { projectId: project.id }, format: 'JSONEachRow' } as const;
  await until('log record', 30_000, async () => {
    const query = 'SELECT count() AS records FROM log_records WHERE project_id = {projectId:String}';
    return Number((await readRows<{ records: string }>(clickhouse, { query, ...ofProject }))[0]?.records) > 0;
  });
  const tooLong: string[] = [];
  for (const column of columns) {
    const query = `SELECT max(${longestIn(column)}) AS longest FROM ${column.table} WHERE project_id = {projectId:String}`;
    const [row] = await readRows<{ longest: string }>(clickhouse, { query, ...ofProject });
    const identifiers = column.type.startsWith('Array(Tuple') ? identifiersMax : 1;
    if (Number(row?.longest) > longestInDictionary * identifiers)
      tooLong.push(`${column.table}.${column.name}: ${row?.longest}`);
  }
  expect(tooLong).toEqual([]);
});

/** 512 words of each data part are in memory while they are merged. */
test('a word that no search can name is not indexed, and those beside it are found', async () => {
  const traceId = newTraceId();
  const words = `lamps ${'y'.repeat(300_000)} orders ${'z'.repeat(4_096)}`;
  await sendSpans(api, project.key, [aSpan({ traceId, attributes: { 'input.value': words } })]);
  const found = await untilListed(api, project, traceId);
  expect(found.trace_id).toBe(traceId);
  const { body } = await listExecutions(api, project, { q: 'lamps orders' });
  expect(body.data.map((each) => each.trace_id)).toEqual([traceId]);
  const [row] = await readRows<{ words: number[] }>(clickhouse, {
    query: `SELECT arrayMap(word -> length(word)::Float64, tokens(search_texts[1], 'splitByNonAlpha')) AS words FROM spans
            WHERE project_id = {projectId:String} AND trace_id = unhex({traceId:String})`,
    query_params: { projectId: project.id, traceId },
    format: 'JSONEachRow',
  });
  expect(row?.words.toSorted((a, b) => a - b)).toEqual([5, 6, 4_096]);
  const plan = await readRows<{ explain: string }>(clickhouse, {
    query: `EXPLAIN indexes = 1 SELECT count() FROM spans WHERE project_id = {projectId:String} AND hasAllTokens(search_texts, ['lamps'])`,
    query_params: { projectId: project.id },
    format: 'JSONEachRow',
  });
  expect(plan.map(({ explain }) => explain).join('\n')).toMatch(/Name: search_words/);
});
