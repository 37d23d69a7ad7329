import { randomBytes } from 'node:crypto';
import type { ClickHouse, ClickHouseSettings } from '../../stores/clickhouse/client.ts';
import { spansPerQuery } from '../spans/index.ts';
import { findJoinedSpans, type JoinedSpan } from '../spans/reads.ts';
import { countFewRecords } from './count-few-records.ts';
import { countRecords, noSpan, overheadBytes, partsPerQuery, type RecordCount } from './count-records.ts';
import { type Evaluations, findEvaluations } from './find-evaluations.ts';
import { orTooLarge, type StoredRecord } from './log-record-queries.ts';

/** A stored span whose row was made with other records than it should have. */
export interface UnjoinedSpan {
  traceId: string;
  spanId: string;
  /** Records that are known for the span. */
  known: number;
  /** Records that its row was made with. */
  used: number;
  /** Of these, records of the whole trace. */
  usedOfTrace: number;
  /** The version of its row. */
  version: number;
  /** Bytes of its records, and of those that it shows. */
  bytes: number;
  /** Records of the whole trace that this span shows. */
  ofTrace: readonly StoredRecord[];
}

/** The spans of some traces, and the traces that must be looked at alone. */
export interface Unjoined {
  spans: UnjoinedSpan[];
  large: string[];
}

const tracesPerQuery = 1_000;
/** Spans with records: of one trace that is looked at beside others, and of all that are looked at together. */
const smallTraceSpansMax = 1_000;
const spansTogetherMax = 5_000;
/** Spans with records that are looked at. Further traces must be looked at later, alone. */
const lookedAtMax = 20_000;
/** Evaluations of traces that are looked at together. They are kept until the spans are joined. */
const evaluationBytesMax = 4 * 1024 * 1024;

/**
 * Returns the spans of the traces whose rows lack records, or with `joinedToo` all that have any.
 * Records whose span is not stored yet wait; the worker that stores the span asks again. What is not looked at until
 * `endMs` (`performance.now()`) is `large`, and so is a trace with very many records. `settings` are those of the counts.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function findUnjoined(
  clickhouse: ClickHouse,
  projectId: string,
  traceIds: readonly string[],
  { joinedToo, endMs, settings }: { joinedToo: boolean; endMs: number; settings?: ClickHouseSettings },
): Promise<Unjoined> {
  const found: Unjoined = { spans: [], large: [] };
  const open = [...traceIds].sort();
  const budget = { bytesLeft: evaluationBytesMax, endMs };
  let lookedAt = 0;
  let atOnce = tracesPerQuery;
  while (open.length > 0) {
    if (lookedAt > lookedAtMax || performance.now() > endMs)
      return { spans: found.spans, large: found.large.concat(open) };
    const some = open.splice(0, atOnce);
    const small = await countSmall(clickhouse, projectId, some, settings).catch(orTooLarge);
    if (small === undefined) {
      // Half as many next time, until the one with very many records is alone.
      atOnce = Math.ceil(some.length / 2);
      (some.length === 1 ? found.large : open).unshift(...some);
      continue;
    }
    atOnce = Math.min(atOnce * 2, tracesPerQuery);
    const { counts, ofTraces, large, next } = small;
    open.unshift(...next);
    lookedAt += counts.length;
    const evaluations = await findEvaluations(clickhouse, projectId, ofTraces, budget);
    const isLarge = new Set([...large, ...evaluations.large]);
    const own = await describe(clickhouse, projectId, counts, evaluations);
    for (const span of [...own, ...describeOthers(evaluations, new Set(counts.map(keyOf)))]) {
      if (isLacking(span, joinedToo) && !isLarge.has(span.traceId)) found.spans.push(span);
    }
    for (const traceId of isLarge) found.large.push(traceId);
  }
  return found;
}

/**
 * Yields the spans of one trace of any size as {@link findUnjoined} does, for a thread. Pages without such spans are
 * yielded too, so that the caller can end.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function* findUnjoinedOfLarge(
  clickhouse: ClickHouse,
  projectId: string,
  traceId: string,
  joinedToo = false,
): AsyncGenerator<UnjoinedSpan[]> {
  const traceIds = [traceId];
  const ofTrace = await countRecords(clickhouse, projectId, { traceIds, spans: [{ traceId, spanId: noSpan }] });
  const evaluations = await findEvaluations(clickhouse, projectId, ofTrace);
  // These come first, because there may be no time for all pages.
  for (const spans of partsPerQuery(evaluations.spans)) {
    const countOf = byKey(await countRecords(clickhouse, projectId, { traceIds, spans }));
    const showing = spans
      .filter((span) => !keepsEvaluations(span, evaluations))
      .map((span) => unjoinedSpan(span, countOf.get(keyOf(span)), evaluations));
    yield showing.filter((span) => isLacking(span, joinedToo));
  }
  const seen = new Set(evaluations.spans.map(keyOf));
  for await (const page of countPages(clickhouse, projectId, traceId)) {
    const counts = page.filter((each) => !seen.has(keyOf(each)));
    const own = await describe(clickhouse, projectId, counts, evaluations);
    yield own.filter((span) => isLacking(span, joinedToo));
  }
}

/**
 * Yields the counts of all spans of a trace. Begins at a random span, so that a caller that ends early comes to all of
 * them in time.
 */
async function* countPages(clickhouse: ClickHouse, projectId: string, traceId: string): AsyncGenerator<RecordCount[]> {
  const begin = randomBytes(8).toString('hex');
  for (const [from, to] of [
    [begin, undefined],
    [noSpan, begin],
  ] as const) {
    for (let after = from; ; ) {
      const page = await countRecords(clickhouse, projectId, { traceIds: [traceId], after, max: spansPerQuery });
      const counts = to === undefined ? page : page.filter(({ spanId }) => spanId <= to);
      yield counts;
      if (counts.length < spansPerQuery) break;
      after = counts.at(-1)?.spanId ?? after;
    }
  }
}

/**
 * Returns the counts of spans and of whole traces, the traces with too many spans, and those to look at next.
 * @throws TooLargeError when the traces have very many records
 */
async function countSmall(
  clickhouse: ClickHouse,
  projectId: string,
  traceIds: readonly string[],
  settings?: ClickHouseSettings,
) {
  const perTrace = smallTraceSpansMax + 1;
  const wanted = { traceIds, perTrace, max: spansTogetherMax };
  const all = await countFewRecords(clickhouse, projectId, wanted, settings);
  const spansOf = new Map<string, number>();
  for (const { traceId } of all) spansOf.set(traceId, (spansOf.get(traceId) ?? 0) + 1);
  const large = new Set([...spansOf].filter(([, spans]) => spans === perTrace).map(([traceId]) => traceId));
  // Of the last trace some spans may be missing, and of those with higher ids all.
  const last = all.length === spansTogetherMax ? all.at(-1)?.traceId : undefined;
  const next = last === undefined ? [] : traceIds.filter((traceId) => traceId >= last && !large.has(traceId));
  const small = all.filter(({ traceId }) => !large.has(traceId) && traceId !== last);
  return {
    counts: small.filter(({ spanId }) => spanId !== noSpan),
    ofTraces: small.filter(({ spanId }) => spanId === noSpan),
    large,
    next,
  };
}

/** Returns the spans that have records of their own. */
async function describe(
  clickhouse: ClickHouse,
  projectId: string,
  counts: readonly RecordCount[],
  evaluations: Evaluations,
): Promise<UnjoinedSpan[]> {
  const countOf = byKey(counts);
  const found: UnjoinedSpan[] = [];
  for (const spans of partsPerQuery(counts)) {
    for (const span of await findJoinedSpans(clickhouse, projectId, spans)) {
      if (keepsEvaluations(span, evaluations)) continue;
      found.push(unjoinedSpan(span, countOf.get(keyOf(span)), evaluations));
    }
  }
  return found;
}

/** Returns the spans that only show records of their trace, or did. */
function describeOthers(evaluations: Evaluations, own: ReadonlySet<string>): UnjoinedSpan[] {
  const others = evaluations.spans.filter((span) => !own.has(keyOf(span)));
  return others.map((span) => unjoinedSpan(span, undefined, evaluations));
}

/** Returns whether a span shows evaluations that are too many to read again, so that its row stays as it is. */
function keepsEvaluations({ traceId, usedOfTrace }: JoinedSpan, { large }: Evaluations): boolean {
  return usedOfTrace > 0 && large.has(traceId);
}

function unjoinedSpan(
  { traceId, spanId, used, usedOfTrace, version }: JoinedSpan,
  own: RecordCount | undefined,
  { shown }: Evaluations,
): UnjoinedSpan {
  const ofTrace = shown.get(traceId + spanId) ?? [];
  return {
    traceId,
    spanId,
    known: (own?.records ?? 0) + ofTrace.length,
    used,
    usedOfTrace,
    version,
    bytes: ofTrace.reduce((sum, { bytes }) => sum + bytes + overheadBytes, own?.bytes ?? 0),
    ofTrace,
  };
}

/** A span may get a record of its own and lose one of the trace, so that their sum stays the same. */
function isLacking({ known, used, ofTrace, usedOfTrace }: UnjoinedSpan, joinedToo: boolean): boolean {
  return known !== used || ofTrace.length !== usedOfTrace || (joinedToo && known > 0);
}

function byKey(counts: readonly RecordCount[]): Map<string, RecordCount> {
  return new Map(counts.map((each) => [keyOf(each), each]));
}

function keyOf({ traceId, spanId }: { traceId: string; spanId: string }): string {
  return traceId + spanId;
}
