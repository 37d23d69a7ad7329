import { expect, test } from 'vitest';
import { traceReads } from '../../../src/domains/executions/trace-reads.ts';
import { idsOfPages, readSpanPages, type SpanOfPage, traceReadDeps } from '../../support/span-pages.ts';
import { newTraceId } from '../../support/spans.ts';
import { storeRecords } from '../../support/stored-records.ts';
import { storedSpanId, storeSpans } from '../../support/stored-spans.ts';
import { useTraceReads } from '../../support/trace-reads.ts';
import { spanIdsIn, watchedClickHouse } from '../../support/watched-clickhouse.ts';

const it = useTraceReads();

test('log records of megabytes are read of a few spans at a time, and end a page after 32 MiB', async () => {
  const traceId = newTraceId();
  const ids = Array.from({ length: 40 }, (_, index) => storedSpanId(index));
  await storeSpans(it.store.clickhouse, it.project, { traceId, count: 40, columns: { log_count: '1' } });
  for (const spanId of ids) {
    // 'repeat' takes at most a million.
    const body = `concat('{"stringValue":"', repeat('r', 900000), repeat('r', 900000), '"}')`;
    await storeRecords(it.store.clickhouse, it.project, { traceId, spanId, columns: { body, bytes: '1800000' } });
  }
  const spansOfReads: number[] = [];
  const noting = watchedClickHouse(it.store.clickhouse, (statement) => {
    if (/SELECT.* body,.*FROM .*log_records/s.test(statement.query)) spansOfReads.push(spanIdsIn(statement).length);
  });
  const pages = await readSpanPages(noting, { projectId: it.project.id, traceId }, ['logs']);
  expect(pages.map(({ length }) => length)).toEqual([19, 19, 2]);
  expect(idsOfPages(pages)).toEqual(ids);
  expect(pages.flat().every(({ large_parts: [large] }) => large?.part === 'logs')).toBe(true);
  expect(Math.max(...spansOfReads)).toBe(2);
  expect(spansOfReads.length).toBeLessThan(25);
});

test.each([false, true])('log records are shown with their span, in a thread: %s', async (large) => {
  const traceId = newTraceId();
  await storeSpans(it.store.clickhouse, it.project, { traceId, count: 90, columns: { log_count: 'number % 3' } });
  const body = `concat('{"stringValue":"', toString(number), '"}')`;
  await storeRecords(it.store.clickhouse, it.project, { traceId, spans: 90, columns: { body } });
  const input = { projectId: it.project.id, traceId, limit: 90, include: new Set(['logs'] as const) };
  const { data }: { data: SpanOfPage[] } = JSON.parse(
    await traceReads.listSpans(traceReadDeps(it.store.clickhouse, large), input),
  );
  const expected = Array.from({ length: 90 }, (_, index) => (index % 3 === 0 ? [] : [`${index}`]));
  expect(data.map(({ logs = [] }) => logs.map((record) => record.body))).toEqual(expected);
});
