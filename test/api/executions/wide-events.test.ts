import { expect, test } from 'vitest';
import { getHierarchy } from '../../../src/domains/executions/get-hierarchy.ts';
import { getTimeline } from '../../../src/domains/executions/get-timeline.ts';
import { withEvents } from '../../../src/domains/spans/tree-event-queries.ts';
import { traceReadDeps } from '../../support/span-pages.ts';
import { newTraceId } from '../../support/spans.ts';
import { storedSpanId, storeSpans } from '../../support/stored-spans.ts';
import { useTraceReads } from '../../support/trace-reads.ts';
import { limitedClickHouse, watchedClickHouse } from '../../support/watched-clickhouse.ts';

const it = useTraceReads();

const filter = { kinds: undefined, durationNanoMin: 0n, errorsOnly: false, limit: 20_000 };
const eventSql = (name: string, chars: number) =>
  `concat('[{"timeUnixNano":"5","name":"', ${name}, '","attributes":"', repeat('x', ${chars}), '"}]')`;

test('events of many spans are read for a timeline with little memory of ClickHouse, each as sent last', async () => {
  const trace = { projectId: it.project.id, traceId: newTraceId() };
  const start = { start_unix_nano: '1000 + number' };
  const wide = {
    ...start,
    events: eventSql("concat('it ', toString(number))", 100_000),
    received_at: 'now64(3) - 60',
  };
  await storeSpans(it.store.clickhouse, it.project, { traceId: trace.traceId, count: 1_100, columns: wide });
  const again = { ...start, events: eventSql("'again'", 10) };
  await storeSpans(it.store.clickhouse, it.project, { traceId: trace.traceId, count: 2, columns: again });
  await storeSpans(it.store.clickhouse, it.project, { traceId: trace.traceId, count: 1, columns: start });
  const limited = limitedClickHouse(it.store.clickhouse, 80_000_000);
  const timeline = await getTimeline(traceReadDeps(limited, true), { ...trace, skew: true, filter });
  expect(timeline).toMatchObject({ span_count: 1_100, truncated: false });
  const names = timeline.spans.map(({ events }) => events.map(({ name }) => name));
  const sentOnce = Array.from({ length: 1_098 }, (_, index) => [`it ${index + 2}`]);
  expect(names).toEqual([[], ['again'], ...sentOnce]);
});

test.each([3, 1_100])('events are not read for a hierarchy of %i spans, which shows none', async (count) => {
  const trace = { projectId: it.project.id, traceId: newTraceId() };
  await storeSpans(it.store.clickhouse, it.project, {
    traceId: trace.traceId,
    count,
    columns: { events: eventSql("'it'", 10) },
  });
  const statements: string[] = [];
  const noting = watchedClickHouse(it.store.clickhouse, ({ query }) => statements.push(query));
  const input = { ...trace, format: 'flat' } as const;
  const hierarchy = await getHierarchy(traceReadDeps(noting, count > 1_000), input);
  expect(hierarchy).toMatchObject({ span_count: count, truncated: false });
  expect(statements.filter((query) => query.includes('JSONExtract(events'))).toEqual([]);
});

test('events end a timeline after a gibibyte', async () => {
  const trace = { projectId: it.project.id, traceId: newTraceId() };
  const columns = { events: eventSql("'it'", 10) };
  await storeSpans(it.store.clickhouse, it.project, { traceId: trace.traceId, count: 4, columns });
  const rows = [0, 1, 2, 3].map((index) => ({ spanId: storedSpanId(index), eventsBytes: 400 * 1024 * 1024 }));
  expect(await withEvents(it.store.clickhouse, trace, rows)).toMatchObject([
    { spanId: storedSpanId(0), events: [{ name: 'it', timeUnixNano: 5n }] },
    { spanId: storedSpanId(1), events: [{ name: 'it', timeUnixNano: 5n }] },
  ]);
});
