import { describe, expect, test } from 'vitest';
import { traceReads } from '../../../src/domains/executions/trace-reads.ts';
import { idsOfPages, readSpanPages, traceReadDeps } from '../../support/span-pages.ts';
import { newTraceId } from '../../support/spans.ts';
import { storedSpanId, storeSpans } from '../../support/stored-spans.ts';
import { readAsApi, readDeps, useTraceReads } from '../../support/trace-reads.ts';
import { getExecution } from '../../support/traces.ts';
import { limitedClickHouse, spanIdsIn, tooMuchMemory, watchedClickHouse } from '../../support/watched-clickhouse.ts';

const it = useTraceReads();

/** Stores a trace whose spans have so many attributes of a million characters. */
async function storeWide({ count, attributes }: { count: number; attributes: number }): Promise<string> {
  const traceId = newTraceId();
  const range = `range(${attributes})`;
  const sql = `mapFromArrays(arrayMap(i -> toString(i), ${range}), arrayMap(i -> repeat('y', 1000000), ${range}))`;
  for (let from = 0; from < count; from += 10) {
    const columns = {
      attributes_string: sql,
      span_id: `unhex(leftPad(hex(number + ${from + 1}), 16, '0'))`,
      start_unix_nano: `number + ${from + 1}`,
    };
    await storeSpans(it.store.clickhouse, it.project, { traceId, count: Math.min(10, count - from), columns });
  }
  return traceId;
}

const noFeedback = { items: [], score: null };
const traceOf = (traceId: string) => ({ projectId: it.project.id, traceId });
const idsOf = (count: number) => Array.from({ length: count }, (_, index) => storedSpanId(index));

describe('spans of many megabytes', () => {
  test('are read a few at a time, with little memory of ClickHouse', async () => {
    const traceId = await storeWide({ count: 24, attributes: 4 });
    const limited = limitedClickHouse(it.store.clickhouse, 150_000_000);
    const pages = await readSpanPages(limited, traceOf(traceId), ['attributes']);
    expect(idsOfPages(pages)).toEqual(idsOf(24));
    expect(pages.flat().every(({ large_parts: [large] }) => (large?.chars ?? 0) > 4_000_000)).toBe(true);
  });

  test('of which an execution shows the first ones are not all read for it', async () => {
    const trace = { projectId: it.project.id, traceId: newTraceId() };
    const columns = { input: "repeat('x', 900000)" };
    await storeSpans(it.store.clickhouse, it.project, { traceId: trace.traceId, count: 60, columns });
    const limited = limitedClickHouse(it.store.clickhouse, 100_000_000);
    const input = { ...trace, include: new Set(['input'] as const), withSpans: true, feedback: noFeedback };
    const execution = JSON.parse(await traceReads.getExecution(traceReadDeps(limited, false), input));
    expect(execution).toMatchObject({ span_count: 60, spans_truncated: true });
    expect(execution.spans).toHaveLength(9);
  });

  test('end a page after 32 MiB were read, in an execution too, and the rest is read by its cursor', async () => {
    const traceId = await storeWide({ count: 15, attributes: 3 });
    const { body } = await getExecution(it.api, it.project, traceId);
    const detail = body as typeof body & { spans_truncated: boolean; spans_next_cursor: string | null };
    expect(detail).toMatchObject({ span_count: 15, spans_truncated: true });
    expect(detail.spans).toHaveLength(12);
    const pages = await readSpanPages(it.store.clickhouse, traceOf(traceId), ['attributes']);
    expect(pages.map(({ length }) => length)).toEqual([12, 3]);
    expect(idsOfPages(pages)).toEqual(idsOf(15));
  });

  test('that are not asked for do not end it', async () => {
    const traceId = await storeWide({ count: 15, attributes: 3 });
    expect(await readSpanPages(it.store.clickhouse, traceOf(traceId), ['input'])).toHaveLength(1);
  });
});

describe('a statement that takes too much memory', () => {
  test('is made for fewer spans', async () => {
    const traceId = newTraceId();
    await storeSpans(it.store.clickhouse, it.project, { traceId, count: 100 });
    let refused = 0;
    const refusing = watchedClickHouse(it.store.clickhouse, (statement) => {
      if (spanIdsIn(statement).length <= 2) return;
      refused++;
      throw tooMuchMemory();
    });
    expect(idsOfPages(await readSpanPages(refusing, traceOf(traceId), ['input']))).toEqual(idsOf(100));
    expect(refused).toBeGreaterThan(1);
  });

  test('is left to a thread, which reads the trace from then on', async () => {
    const trace = { projectId: it.project.id, traceId: newTraceId() };
    await storeSpans(it.store.clickhouse, it.project, { traceId: trace.traceId, count: 3 });
    let statements = 0;
    const clickhouse = watchedClickHouse(it.store.clickhouse, () => {
      statements++;
      throw tooMuchMemory();
    });
    const deps = readDeps({ clickhouse, threads: it.threads });
    const input = { ...trace, include: new Set(['input'] as const), withSpans: true, feedback: noFeedback };
    for (const turn of ['first', 'second']) {
      const execution = await readAsApi(deps, 'getExecution', input);
      expect(execution, turn).toMatchObject({ span_count: 3, spans: [{}, {}, {}] });
    }
    // The whole trace, then its spans without their texts.
    expect(statements).toBe(2);
  });
});
