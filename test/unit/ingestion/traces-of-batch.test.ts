import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { BatchEntry } from '../../../src/domains/ingestion/store/span-batcher.ts';
import { spansAtHand, tracesOfBatch } from '../../../src/domains/ingestion/store/traces-of-batch.ts';
import type { LightSpan, TraceRows } from '../../../src/domains/spans/index.ts';
import { newestRows } from '../../../src/domains/spans/newest-rows.ts';
import { lightSpan } from '../../support/light-span.ts';

const traceId = 'a'.repeat(32);

/** A row of the one trace: which span, and when it was received. */
interface Row extends LightSpan {
  block: number;
  logRecords: number;
}

/** Bodies of distinct spans, some of them received in the same millisecond. */
const body = fc.record({
  receivedAtMs: fc.integer({ min: 1, max: 4 }),
  spanIds: fc.uniqueArray(fc.constantFrom('1', '2', '3'), { minLength: 1 }),
});
/** Batches of this worker and of others, in the order in which they are stored. */
const batches = fc.array(fc.array(body, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 4 });

test('the spans at hand are always those that a read would return, in any order of batches and receipts', async () => {
  let atHand = 0;
  let again = 0;
  await fc.assert(
    fc.asyncProperty(batches, async (given) => {
      const blocks = given.map((bodies, index) => bodies.map((each) => rowsOf(each, index + 1)));
      const stored = blocks.flatMap((bodies) => bodies.flat());
      const [project] = await tracesOfBatch((blocks.at(-1) ?? []).map(entryOf));
      const trace = project?.traces.get(traceId);
      if (trace === undefined) throw new Error('The batch has the trace');
      const found = spansAtHand(trace, describe(stored));
      if (found === undefined) return;
      atHand++;
      if (given.length > 1) again++;
      const read = newestRows(stored).map(({ row, alone }) => ({ ...row, sentOnce: alone }));
      expect(shown(found)).toEqual(shown(read));
    }),
    { numRuns: 3_000, seed: 11 },
  );
  expect(atHand).toBeGreaterThan(300);
  expect(again).toBeGreaterThan(50);
});

test('a trace of more spans than are counted is read when it is sent again', async () => {
  const spanIds = Array.from({ length: 101 }, (_, index) => String(index));
  const first = rowsOf({ receivedAtMs: 1, spanIds }, 1);
  const second = rowsOf({ receivedAtMs: 2, spanIds }, 2);
  const [project] = await tracesOfBatch([entryOf(second)]);
  const trace = project?.traces.get(traceId);
  if (trace === undefined) throw new Error('The batch has the trace');
  expect(spansAtHand(trace, describe([...first, ...second]))).toBeUndefined();
  expect(spansAtHand(trace, describe(second))).toHaveLength(101);
});

function rowsOf({ receivedAtMs, spanIds }: { receivedAtMs: number; spanIds: string[] }, block: number): Row[] {
  return spanIds.map((spanId) => ({
    ...lightSpan({ traceId, spanId, receivedAtMs, name: `${block}` }),
    block,
    logRecords: 0,
  }));
}

function entryOf(rows: readonly Row[]): BatchEntry {
  const encoded = {
    rows: { bytes: Buffer.alloc(0), rowCount: rows.length },
    spanCount: rows.length,
    traces: [{ traceId, spans: rows.length }],
    lightSpans: rows,
  };
  const receivedAtMs = rows[0]?.receivedAtMs ?? 0;
  return { jobId: 'job', receivedAtMs, projectId: 'prj', workspaceId: 'wsp', encoded: encoded as never };
}

/** What `describeTraceRows` says of these rows. */
function describe(rows: readonly Row[]): TraceRows {
  const latestMs = Math.max(...rows.map(({ receivedAtMs }) => receivedAtMs));
  const spans = new Set(rows.map(({ spanId }) => spanId)).size;
  const latestRows = rows.filter(({ receivedAtMs }) => receivedAtMs === latestMs).length;
  return { rows: rows.length, spans: spans > 100 ? null : spans, latestMs, latestRows: Math.min(latestRows, 101) };
}

function shown(spans: readonly LightSpan[]): unknown[] {
  return spans
    .map(({ spanId, receivedAtMs, name }) => ({ spanId, receivedAtMs, name }))
    .toSorted((a, b) => a.spanId.localeCompare(b.spanId));
}
