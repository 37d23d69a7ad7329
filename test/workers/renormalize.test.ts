import { execFile, spawn } from 'node:child_process';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { readOptions, renormalize } from '../../src/cli/renormalize.ts';
import { normalizeSpan } from '../../src/domains/conventions/index.ts';
import { renormalizeSpans } from '../../src/domains/ingestion/index.ts';
import { costAsReported } from '../../src/domains/ingestion/store/span-cost.ts';
import { promptMention } from '../../src/domains/prompt-links/index.ts';
import {
  lightSpanOf,
  NORMALIZER_VERSION,
  noLogs,
  type SpanRow,
  spanTable,
  typeAttributes,
} from '../../src/domains/spans/index.ts';
import { countStoredSpans } from '../../src/domains/spans/reads.ts';
import { rebuildSpan } from '../../src/domains/spans/stored-span.ts';
import { readStoredSpans } from '../../src/domains/spans/stored-span-queries.ts';
import { groupByTrace, insertExecutions, summarizeExecution } from '../../src/domains/summaries/index.ts';
import { decodeTraces } from '../../src/otlp/decode.ts';
import { defaultOtlpLimits } from '../../src/otlp/limits.ts';
import type { Span } from '../../src/otlp/span.ts';
import { type ClickHouse, connectClickHouse } from '../../src/stores/clickhouse/client.ts';
import { insertBlock } from '../../src/stores/clickhouse/insert-block.ts';
import { readEngineClock } from '../../src/stores/clickhouse/statements.ts';
import { newProject, type ProjectOfTest, startApi, type TestApi } from '../support/api.ts';
import { changeTables } from '../support/change-tables.ts';
import { allRows } from '../support/embedded-clickhouse.ts';
import * as arbitrary from '../support/otlp-arbitrary.ts';
import { encodeTraces, type SpanInput } from '../support/otlp-encode.ts';
import { aModelCall, aSpan, newSpanId, newTraceId } from '../support/spans.ts';
import { getExecution, listExecutions, sendSpans, untilExecution, untilStored } from '../support/traces.ts';

let api: TestApi;
let clickhouse: ClickHouse;
let project: ProjectOfTest;

const hourMs = 3_600_000;
const window = { from: '2000-01-01T00:00:00Z', to: '2100-01-01T00:00:00Z', limit: 100 };

beforeAll(async () => {
  api = await startApi();
  clickhouse = connectClickHouse(inject('clickhouseUrl'));
});
afterAll(async () => {
  await clickhouse.close();
  await api.close();
});

describe('a stored span', () => {
  test('of any contents is read back as it was decoded', async () => {
    project = await newProject(api);
    const sample = fc.sample(arbitrary.traces, { numRuns: 150, seed: 7 });
    const decoded = sample.flatMap((traces) =>
      decodeTraces('protobuf', encodeTraces('protobuf', traces), defaultOtlpLimits),
    );
    const known = awkward().flatMap((span) => decodeTraces('protobuf', encode([span]), defaultOtlpLimits));
    // An id given twice is one span; the last one stays.
    const spans = new Map([...decoded, ...known].map((span) => [span.traceId + span.spanId, span]));
    expect(spans.size).toBeGreaterThan(300);
    await store([...spans.values()], Date.now());

    const found = new Map<string, Span>();
    const filter = { projectId: project.id, belowVersion: 9_999, receivedBeforeMs: Date.now() + hourMs };
    for await (const { row: stored } of readStoredSpans(clickhouse, filter)) {
      const span = rebuildSpan(stored);
      found.set(span.traceId + span.spanId, span);
    }
    expect(found.size).toBe(spans.size);
    for (const [id, span] of spans) expect(found.get(id)).toStrictEqual(span);
  });

  test('is read once each, page after page, in the order of ids, many of them of one trace', async () => {
    project = await newProject(api);
    const traceId = newTraceId();
    const spans = Array.from({ length: 5_003 }, (_, index) => aSpan(index % 5 === 0 ? {} : { traceId }));
    await store(decode(spans), Date.now());
    const ids: string[] = [];
    const filter = { projectId: project.id, belowVersion: 9_999, receivedBeforeMs: Date.now() + hourMs };
    for await (const { row: stored } of readStoredSpans(clickhouse, filter)) ids.push(stored.traceId + stored.spanId);
    expect(ids).toEqual(spans.map(({ traceId, spanId }) => traceId + spanId).toSorted());
  });
});

describe('renormalize', () => {
  test('a span that an older normalizer read wrongly comes out right, and so does its execution', async () => {
    project = await newProject(api);
    const [call, root] = aTrace();
    await store(decode([call, root]), Date.now() - hourMs, misread);
    const before = await getExecution(api, project, call.traceId);
    expect(before.body).toMatchObject({ usage: { input_tokens: 0 }, models: [], tags: [] });

    expect(await run({})).toBe(true);

    const { body } = await getExecution(api, project, call.traceId);
    expect(body).toMatchObject({
      usage: { input_tokens: 42, output_tokens: 17, total_tokens: 59 },
      models: ['gpt-4o'],
      providers: ['openai'],
      tags: ['a', 'b'],
    });
    expect(body.spans.find(({ span_id }) => span_id === call.spanId)).toMatchObject({
      kind: 'llm',
      model: 'gpt-4o',
      normalizer_version: NORMALIZER_VERSION,
      evaluations: [{ name: 'quality', target: 'span', score: 0.5, label: null, metadata: { rubric: 2 } }],
      attributes: { 'annotations.0.annotation.score': 0.5, 'session.id': 's' },
      attribute_types: { 'annotations.0.annotation.score': 'double' },
    });
    const listed = (await listExecutions(api, project, window)).body.data;
    expect(listed).toMatchObject([{ trace_id: call.traceId, usage: { input_tokens: 42 }, models: ['gpt-4o'] }]);
  });

  test('run again changes nothing and finds nothing', async () => {
    project = await newProject(api);
    const [call, root] = aTrace();
    await store(decode([call, root]), Date.now() - hourMs, misread);
    await run({});
    const first = await getExecution(api, project, call.traceId);
    const lines: string[] = [];
    await run({}, lines);
    expect(lines[0]).toMatch(/^0 spans of 0 projects/);
    await run({ belowVersion: NORMALIZER_VERSION + 1 }, lines);
    expect(lines.at(-1)).toMatch(/^Normalized 2 spans again\. 0 spans could not be read/);
    expect((await getExecution(api, project, call.traceId)).body).toEqual(first.body);
    await changeTables({ query: 'OPTIMIZE TABLE spans FINAL' });
    await changeTables({ query: 'OPTIMIZE TABLE executions FINAL' });
    expect((await getExecution(api, project, call.traceId)).body).toEqual(first.body);
    expect((await listExecutions(api, project, window)).body.data).toMatchObject([{ usage: { input_tokens: 42 } }]);
  });

  test('leaves a span alone that was received later than the row it read, or just now', async () => {
    project = await newProject(api);
    const [call, root] = aTrace();
    await store(decode([call, root]), Date.now() - hourMs, misread);
    const newer = decode([{ ...call, name: 'newer' }]);
    await store(newer, Date.now() - hourMs + 1, (row) => ({ ...misread(row), version: NORMALIZER_VERSION }));
    const fresh = aModelCall(1, 2);
    await store(decode([fresh]), Date.now(), misread);
    await run({});
    const rows = await allRows<{ span_name: string; normalizer_version: number; kind: string }>(
      clickhouse,
      `SELECT span_name, normalizer_version, kind FROM spans FINAL WHERE project_id = '${project.id}' ORDER BY span_name`,
    );
    expect(rows).toEqual([
      { span_name: 'chat gpt-4o', normalizer_version: 0, kind: 'other' },
      { span_name: 'newer', normalizer_version: NORMALIZER_VERSION, kind: 'other' },
      { span_name: 'root', normalizer_version: NORMALIZER_VERSION, kind: 'agent' },
    ]);
  });

  test('keeps costs that are known, and adds one only where none was', async () => {
    project = await newProject(api);
    const reporting = (usd: number) => aModelCall(1, 1, { attributes: { 'gen_ai.usage.cost': usd } });
    const computed = { nanoUsd: 7n, source: 'computed' as const, priceVersion: '0.1.8' };
    const cases = [
      { span: aModelCall(1, 1), was: computed, is: ['0.000000007', 'computed', '0.1.8'] },
      { span: reporting(3), was: computed, is: ['3.000000', 'reported', null] },
      {
        span: reporting(3),
        was: { ...computed, source: 'reported', priceVersion: '' },
        is: ['0.000000007', 'reported', null],
      },
      {
        span: reporting(3),
        was: { nanoUsd: null, source: 'none', priceVersion: '' },
        is: ['3.000000', 'reported', null],
      },
      { span: aModelCall(1, 1), was: { nanoUsd: null, source: 'none', priceVersion: '' }, is: [null, 'none', null] },
    ] as const;
    for (const { span, was } of cases) {
      await store(decode([span]), Date.now() - hourMs, (row) => ({ ...misread(row), cost: was }));
    }
    await run({});
    for (const { span, is } of cases) {
      const { body } = await getExecution(api, project, span.traceId);
      const [{ cost, cost_source, price_version } = {}] = body.spans;
      expect([cost, cost_source, price_version]).toEqual(is);
    }
  });

  test('of one project, or dry, leaves the others as they are', async () => {
    const other = await newProject(api);
    project = other;
    const [call, root] = aTrace();
    await store(decode([call, root]), Date.now() - hourMs, misread);
    project = await newProject(api);
    await store(decode([aModelCall(1, 1)]), Date.now() - hourMs, misread);
    const lines: string[] = [];
    await run({ dryRun: true }, lines);
    expect(lines).toEqual([`1 spans of 1 projects were read by a normalizer below ${NORMALIZER_VERSION}.`]);
    await run({});
    const versions = await allRows<{ project_id: string; versions: number[] }>(
      clickhouse,
      `SELECT project_id, groupUniqArray(normalizer_version) AS versions FROM spans FINAL
       WHERE project_id IN ('${project.id}', '${other.id}') GROUP BY project_id`,
    );
    expect(Object.fromEntries(versions.map(({ project_id, versions: of }) => [project_id, of]))).toEqual({
      [project.id]: [NORMALIZER_VERSION],
      [other.id]: [0],
    });
  });

  test('of a span that cannot be read back leaves it and says which', async () => {
    project = await newProject(api);
    const [good, bad] = [aModelCall(1, 1), aModelCall(2, 2)];
    await store(decode([good]), Date.now() - hourMs, misread);
    await store(decode([bad]), Date.now() - hourMs, (row) => ({ ...misread(row), badOther: 'no JSON' }));
    const lines: string[] = [];
    expect(await run({}, lines)).toBe(false);
    expect(lines.find((line) => line.includes(bad.spanId))).toMatch(/not JSON/);
    expect((await getExecution(api, project, good.traceId)).body.usage).toMatchObject({ input_tokens: 1 });
  });

  test('beside ingestion: rows that the worker stored are written again, and what it stores next wins', async () => {
    project = await newProject(api);
    const span = aModelCall(42, 17);
    await sendSpans(api, project.key, [span]);
    await untilStored(api, project, span.traceId);
    await changeTables({
      query: `ALTER TABLE spans UPDATE kind = 'other', model = '' WHERE project_id = '${project.id}' SETTINGS mutations_sync = 2`,
    });
    const later = {
      projectId: project.id,
      belowVersion: NORMALIZER_VERSION + 1,
      receivedBeforeMs: Date.now() + hourMs,
    };
    const deps = { clickhouse, onProgress: () => undefined, onUnreadable: () => undefined };
    expect(await renormalizeSpans(deps, later)).toBe(1);
    const mended = await getExecution(api, project, span.traceId);
    expect(mended.body).toMatchObject({ models: ['gpt-4o'], spans: [{ kind: 'llm', model: 'gpt-4o' }] });
    await sendSpans(api, project.key, [{ ...span, name: 'sent again' }]);
    const renamed = ({ name }: { name: string }) => name === 'sent again';
    await untilExecution(api, project, span.traceId, renamed);
    expect(await renormalizeSpans(deps, later)).toBe(1);
    expect((await getExecution(api, project, span.traceId)).body).toMatchObject({ name: 'sent again', span_count: 1 });
    expect((await listExecutions(api, project, window)).body.data).toMatchObject([{ name: 'sent again' }]);
  });
});

describe('the command', () => {
  const command = (url: string, ...args: string[]) =>
    new Promise<{ code: unknown; out: string; err: string }>((resolve) => {
      const child = ['--import', 'tsx', 'src/cli/renormalize.ts', ...args];
      execFile(process.execPath, child, { env: { ...process.env, CLICKHOUSE_URL: url } }, (error, out, err) =>
        resolve({ code: error === null ? 0 : error.code, out, err }),
      );
    });

  test('prints its progress and ends with 0 when every span was read', async () => {
    project = await newProject(api);
    await store(decode(aTrace()), Date.now() - hourMs, misread);
    const { code, out, err } = await command(api.config.clickhouseUrl, '--project', project.id);
    expect([code, err]).toEqual([0, '']);
    expect(out.trim().split('\n')).toEqual([
      `2 spans of 1 projects were read by a normalizer below ${NORMALIZER_VERSION}.`,
      `${project.id}: 2 of 2 spans; 2 of 2 in total`,
      'Normalized 2 spans again. 0 spans could not be read.',
    ]);
  });

  test('killed half-way and run again leaves no span and no execution behind', async () => {
    project = await newProject(api);
    const spans = Array.from({ length: 10_000 }, (_, index) => aModelCall(1, 2, { attributes: { n: BigInt(index) } }));
    const summarize = true;
    await store(decode(spans), Date.now() - hourMs, misread, { summarize });
    const options = { env: { ...process.env, CLICKHOUSE_URL: api.config.clickhouseUrl } };
    const args = ['--import', 'tsx', 'src/cli/renormalize.ts', '--project', project.id];
    const child = spawn(process.execPath, args, { ...options, stdio: ['ignore', 'pipe', 'inherit'] });
    const killed = new Promise((resolve) => child.once('exit', (_, signal) => resolve(signal)));
    child.stdout.on('data', (line: Buffer) => {
      if (/ of 10000 spans;/.test(line.toString())) child.kill('SIGKILL');
    });
    expect(await killed).toBe('SIGKILL');
    const filter = { projectId: project.id, belowVersion: NORMALIZER_VERSION, receivedBeforeMs: Date.now() };
    const left = (await countStoredSpans(clickhouse, filter)).get(project.id) ?? 0;
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThan(10_000);
    expect(await run({})).toBe(true);
    expect((await countStoredSpans(clickhouse, filter)).size).toBe(0);
    const [totals] = await allRows(
      clickhouse,
      `SELECT count() AS executions, sum(input_tokens) AS input, sum(output_tokens) AS output FROM executions FINAL
       WHERE project_id = '${project.id}' AND models = ['gpt-4o']`,
    );
    expect(totals).toEqual({ executions: '10000', input: '10000', output: '20000' });
  });

  test('computes executions again whose spans are right already: a worker had read the old spans and was later', async () => {
    project = await newProject(api);
    const [call, root] = aTrace();
    const rows = await store(decode([call, root]), Date.now() - hourMs, misread);
    await run({});
    await summarizeRows(rows);
    expect((await listExecutions(api, project, window)).body.data).toMatchObject([{ models: [] }]);
    await run({});
    expect((await listExecutions(api, project, window)).body.data).toMatchObject([{ models: ['gpt-4o'] }]);
  });

  test('ends with 1 and says which engine is away, without its password', async () => {
    const { code, out, err } = await command('http://u:secret@127.0.0.1:9');
    expect([code, out]).toEqual([1, '']);
    expect(err).toMatch(/^ClickHouse at 127\.0\.0\.1:9 does not respond \(.*ECONNREFUSED.*\)\. Run the command again/);
    expect(err).not.toContain('secret');
  });

  test.each([['--belov', '2'], ['--below', 'x'], ['spans']])('ends with 2 and its usage at %s', async (...args) => {
    const { code, err } = await command('http://127.0.0.1:9', ...args);
    expect(code).toBe(2);
    expect(err).toContain(args[0]);
    expect(err).toContain('Usage: npm run renormalize');
  });
});

/** A row as an older version may have left it. */
interface OldRow extends SpanRow {
  version: number;
  badOther?: string;
}

function misread(row: SpanRow): OldRow {
  const nothing = normalizeSpan({ ...row.span, attributes: new Map(), events: [] });
  return { ...row, attributes: typeAttributes(row.span.attributes, nothing), normalized: nothing, version: 0 };
}

/** Stores spans by the product's own table, except for what `change` says an older version did otherwise. */
async function store(
  spans: readonly Span[],
  receivedAtMs: number,
  change: (row: SpanRow) => OldRow = (row) => ({ ...row, version: NORMALIZER_VERSION }),
  { summarize = false } = {},
): Promise<readonly OldRow[]> {
  const rows = spans.map((span) => {
    const normalized = normalizeSpan(span);
    const row = change({
      projectId: project.id,
      receivedAtMs,
      retentionDays: 0,
      span,
      attributes: typeAttributes(span.attributes, normalized),
      normalized,
      logs: noLogs,
      prompt: promptMention(normalized.promptRef),
      cost: costAsReported(normalized),
    });
    const other = row.badOther === undefined ? row.attributes.other : { keys: ['k'], values: [row.badOther] };
    return { ...row, attributes: { ...row.attributes, other } };
  });
  const version = rows[0]?.version ?? NORMALIZER_VERSION;
  const staging = `staging_${newSpanId()}`;
  const names = spanTable.names.join(', ');
  await clickhouse.command({ query: `CREATE TABLE ${staging} ENGINE = Memory AS SELECT ${names} FROM spans LIMIT 0` });
  const block = spanTable.block([spanTable.encode(rows)]);
  await insertBlock(clickhouse, { table: staging, columns: spanTable.names, block });
  await clickhouse.command({
    query: `INSERT INTO spans (${names}) SELECT * REPLACE (${version} AS normalizer_version)
            FROM (SELECT ${names} FROM ${staging})`,
  });
  await clickhouse.command({ query: `DROP TABLE ${staging}` });
  if (summarize) await summarizeRows(rows);
  return rows;
}

/** Stores the executions of the rows, as a worker that sees just them. */
async function summarizeRows(rows: readonly OldRow[]): Promise<void> {
  const spans = rows.map((row) => ({ ...lightSpanOf(row), normalizerVersion: row.version }));
  const version = await readEngineClock(clickhouse);
  const executions = [...groupByTrace(spans)].map((trace) => summarizeExecution(project.id, trace, version));
  await insertExecutions(clickhouse, executions);
}

async function run(given: { belowVersion?: number; dryRun?: boolean }, lines: string[] = []): Promise<boolean> {
  return renormalize(clickhouse, { ...readOptions(['--project', project.id]), ...given }, (line) => lines.push(line));
}

function encode(spans: readonly SpanInput[]): Buffer {
  return encodeTraces('protobuf', [{ scopeSpans: [{ spans: [...spans] }] }]);
}

function decode(spans: readonly SpanInput[]): Span[] {
  return decodeTraces('protobuf', encode(spans), defaultOtlpLimits);
}

function aTrace() {
  const root = aSpan({ name: 'root', attributes: { 'gen_ai.operation.name': 'invoke_agent' } });
  const call = aModelCall(42, 17, {
    traceId: root.traceId,
    parentSpanId: root.spanId,
    attributes: {
      'session.id': 's',
      'tag.tags': ['a', 'b'],
      'annotations.0.annotation.name': 'quality',
      'annotations.0.annotation.score': 0.5,
      'annotations.0.annotation.metadata': '{"rubric":2}',
    },
  });
  return [call, root] as const;
}

/** What storing is most likely to bend. */
function awkward(): SpanInput[] {
  const attributes = {
    '': 'empty key',
    '1': 'looks like an index',
    '0': 'before the other',
    __proto__x: 'proto',
    nul: 'a\u0000b',
    empty: '',
    emoji: '\u{1f600}\u2028',
    'int max': 2n ** 63n - 1n,
    'int min': -(2n ** 63n),
    nan: Number.NaN,
    infinite: Number.POSITIVE_INFINITY,
    'minus infinite': Number.NEGATIVE_INFINITY,
    'minus zero': -0,
    tiny: 5e-324,
    large: 1.7976931348623157e308,
    whole: 3,
    yes: true,
    no: false,
    bytes: new Uint8Array([0, 255, 128]),
    nothing: null,
    list: [1n, 1.5, -0, Number.NaN, 'x\u0000', null, [], new Map()],
    map: new Map([['__proto__', new Map([['deep', [new Uint8Array()]]])]]),
  };
  const full = aSpan({
    attributes,
    parentSpanId: newSpanId(),
    flags: 0xffff_ffff,
    traceState: 'a=b',
    kind: 99,
    statusCode: 7,
    statusMessage: 'x\u0000',
    droppedAttributesCount: 0xffff_ffff,
    events: [{ name: 'e\u0000', timeUnixNano: 2n ** 64n - 1n, attributes, droppedAttributesCount: 3 }],
    links: [{ traceId: newTraceId(), spanId: newSpanId(), traceState: 'c=d', flags: 769, attributes }],
  });
  const shared = {
    'output.value': 'a text \u0000 of a known length',
    '': 'x'.repeat(21),
    'input.value': 'x'.repeat(21),
  };
  return [
    full,
    aSpan({ attributes: shared }),
    aSpan({ startUnixNano: 0n, endUnixNano: 0n }),
    aSpan({ startUnixNano: 2n, endUnixNano: 1n }),
  ];
}
