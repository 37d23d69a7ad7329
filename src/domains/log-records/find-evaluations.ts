import { groupBy } from '../../lib/group-by.ts';
import { groupsOf } from '../../lib/pace.ts';
import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { countTraceRows } from '../spans/index.ts';
import { findShowingSpans, type ShowingSpan } from '../spans/reads.ts';
import { noSpan, type RecordCount } from './count-records.ts';
import { findRecords, orTooLarge, type StoredRecord } from './log-record-queries.ts';

/** The evaluations of whole traces. */
export interface Evaluations {
  /** By the span that shows them: trace id and span id. */
  shown: ReadonlyMap<string, readonly StoredRecord[]>;
  /** The spans that show some, or could, or did. */
  spans: ShowingSpan[];
  /** The traces with too many evaluations, or too many spans that could show them, to be looked at beside others. */
  large: Set<string>;
}

/** What the evaluations of traces that are looked at together may take. */
export interface EvaluationBudget {
  bytesLeft: number;
  /** By `performance.now()`. */
  endMs: number;
}

/** Of traces that are looked at together, on the main thread. */
const together = {
  traceBytesMax: 256 * 1024,
  groupBytesMax: 1024 * 1024,
  readBytesMax: 4 * 1024 * 1024,
  spansMax: 20,
  rowsMax: 2_000,
};
/**
 * Of a trace alone, in a thread. Spans over it do not show evaluations by the id of their response. A trace of more
 * rows shows none.
 */
const alone = {
  traceBytesMax: Number.POSITIVE_INFINITY,
  groupBytesMax: 1,
  readBytesMax: 128 * 1024 * 1024,
  spansMax: 10_000,
  rowsMax: 1_000_000,
};

/**
 * Finds the evaluations of whole traces and the spans that show them. `counts` are those of whole traces; without a
 * budget, of one trace alone, in a thread. Traces that are over the budget are `large`.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function findEvaluations(
  clickhouse: ClickHouse,
  projectId: string,
  counts: readonly RecordCount[],
  budget?: EvaluationBudget,
): Promise<Evaluations> {
  const bounds = budget === undefined ? alone : together;
  const shown = new Map<string, StoredRecord[]>();
  const found = { shown, spans: [] as ShowingSpan[], large: new Set<string>() };
  if (counts.length === 0) return found;
  const traceIds = counts.map(({ traceId }) => traceId);
  // ClickHouse compares all rows of a trace.
  const rows = await countTraceRows(clickhouse, projectId, traceIds);
  const isSmall = ({ traceId, bytes }: RecordCount) =>
    bytes <= bounds.traceBytesMax && (rows.get(traceId) ?? 0) <= bounds.rowsMax;
  for (const { traceId } of counts.filter((each) => !isSmall(each))) found.large.add(traceId);
  for (const keys of groupsOf(counts.filter(isSmall), { bytesMax: bounds.groupBytesMax, lengthMax: tracesMax })) {
    const wanted = { keys, bytesMax: bounds.readBytesMax };
    const byTrace = spend(budget, keys)
      ? await findRecords(clickhouse, projectId, wanted).catch(orTooLarge)
      : undefined;
    const traceIds = keys.map(({ traceId }) => traceId);
    if (byTrace === undefined) {
      for (const traceId of traceIds) found.large.add(traceId);
      continue;
    }
    const responseIds = [...byTrace.values()]
      .flat()
      .map(responseIdOf)
      .filter((id) => id !== '');
    const spans = await findShowingSpans(clickhouse, projectId, { traceIds, responseIds, perTrace: bounds.spansMax });
    const spansOf = groupBy(spans, ({ traceId }) => traceId);
    for (const [traceId, own] of spansOf) {
      const roots = own.filter(({ isRoot }) => isRoot).length;
      if (Math.max(roots, own.length - roots) === bounds.spansMax && budget !== undefined) {
        found.large.add(traceId);
        continue;
      }
      for (const span of own) found.spans.push(span);
      assign(byTrace.get(traceId + noSpan) ?? [], own, shown);
    }
  }
  return found;
}

/** Returns whether something of the budget is left, and takes the bytes from it. */
function spend(budget: EvaluationBudget | undefined, counts: readonly RecordCount[]): boolean {
  if (budget === undefined) return true;
  if (budget.bytesLeft <= 0 || performance.now() > budget.endMs) return false;
  budget.bytesLeft -= counts.reduce((sum, { bytes }) => sum + bytes, 0);
  return true;
}

function responseIdOf({ attributes }: StoredRecord): string {
  const id = attributes.get('gen_ai.response.id');
  return typeof id === 'string' ? id : '';
}

/** Traces whose evaluations are read together. */
const tracesMax = 200;

/**
 * Assigns the records of a trace to the spans that show them: the only one with the response id that
 * the record names, else the earliest root. Without a root the record waits.
 */
function assign(records: readonly StoredRecord[], spans: readonly ShowingSpan[], shown: Map<string, StoredRecord[]>) {
  let root: ShowingSpan | undefined;
  for (const span of spans) if (span.isRoot && (root === undefined || isBefore(span, root))) root = span;
  const answered = groupBy(spans, ({ responseId }) => responseId);
  for (const record of records) {
    const named = answered.get(responseIdOf(record)) ?? [];
    const span = named.length === 1 && named[0]?.responseId !== '' ? named[0] : root;
    if (span === undefined) continue;
    const key = span.traceId + span.spanId;
    const own = shown.get(key);
    const one = { ...record, spanId: '' };
    if (own === undefined) shown.set(key, [one]);
    else own.push(one);
  }
}

/** Compares the starts as decimal numbers. */
function isBefore(a: ShowingSpan, b: ShowingSpan): boolean {
  const [first, second] = [a.startUnixNano, b.startUnixNano];
  if (first.length !== second.length) return first.length < second.length;
  return first === second ? a.spanId < b.spanId : first < second;
}
