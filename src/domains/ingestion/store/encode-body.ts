import { mapInSlices } from '../../../lib/pace.ts';
import { decodeTraces, lastSent } from '../../../otlp/decode.ts';
import type { OtlpLimits } from '../../../otlp/limits.ts';
import type { Span } from '../../../otlp/span.ts';
import type { IngestBodyPayload } from '../../../queue/job-catalog.ts';
import type { EncodedRows } from '../../../stores/clickhouse/native-table.ts';
import { bodyBudget, normalizeSpan, type RecordReaders } from '../../conventions/index.ts';
import type { EncodedLogs, RecordFinder, SpanRecords } from '../../log-records/index.ts';
import type { Prices } from '../../pricing/index.ts';
import { linkListedPrompts, type PromptFinder, promptMention, resolveSpanPrompts } from '../../prompt-links/index.ts';
import {
  type LightSpan,
  lightSpanOf,
  noLogs,
  type SpanLogs,
  type SpanRow,
  spanTable,
  typeAttributes,
} from '../../spans/index.ts';
import { BadBodyError } from './body-errors.ts';
import { costOfSpan } from './span-cost.ts';

/** The spans, or the log records, that a body has of one trace. */
export interface TraceShare {
  traceId: string;
  spans: number;
}

/** A body turned into rows of `spans`, or of `log_records`. */
export interface EncodedBody {
  rows: EncodedRows;
  spanCount: number;
  /** Each trace that the body has spans of, once. */
  traces: readonly TraceShare[];
  /**
   * The light spans of all rows, for summaries. Absent for a large body: its traces are then read
   * from ClickHouse.
   */
  lightSpans?: readonly LightSpan[];
  /** What becomes of the log records of the body. */
  outcomes?: EncodedLogs['outcomes'];
}

export interface RowsToRead {
  payload: IngestBodyPayload;
  limits: OtlpLimits;
  prices: Prices;
  /** Finds the log records of the spans, of at most `bytesMax` bytes. */
  records?: { finder: RecordFinder; bytesMax: number; loadReaders: () => Promise<RecordReaders> };
}

/** The log records of the spans have too many bytes. */
export class LargeRecordsError extends Error {}

/** For more spans a thread sends the light spans in chunks, see encode-thread.ts. */
const lightSpansMax = 1_000;

/**
 * Turns an inflated body into rows, without looking up their prompts. Other work runs between
 * spans.
 * @throws LargeRecordsError when their log records have too many bytes
 * @throws BadBodyError when the body is not what the API accepted: it does not decode, or has
 * another number of spans
 */
export async function readRows({ payload, limits, prices, records }: RowsToRead, inflated: Buffer): Promise<SpanRow[]> {
  const spans = decodeSpans(payload, inflated, limits);
  const logs = records?.finder.mayHave(payload.projectId) ? await findLogs(payload, spans, records) : undefined;
  return toRows({ payload, prices, logs }, spans);
}

/**
 * Returns the spans of a body, each once.
 * @throws BadBodyError when the body is not what the API accepted
 */
export function decodeSpans(payload: IngestBodyPayload, inflated: Buffer, limits: OtlpLimits): readonly Span[] {
  return lastSent(decodeItems(payload, inflated, limits, decodeTraces));
}

/** The log records of spans by trace id and span id, and what reads them. */
export interface LogsOfSpans {
  recordsOf: ReadonlyMap<string, SpanRecords>;
  readers: RecordReaders;
}

/**
 * Finds the log records of spans; undefined when they have none.
 * @throws LargeRecordsError when they have too many bytes
 */
export async function findLogs(
  { projectId }: IngestBodyPayload,
  spans: readonly Span[],
  { finder, bytesMax, loadReaders }: NonNullable<RowsToRead['records']>,
): Promise<LogsOfSpans | undefined> {
  const recordsOf = await finder.find(projectId, spans, bytesMax);
  if (recordsOf === undefined) throw new LargeRecordsError();
  return recordsOf.size === 0 ? undefined : { recordsOf, readers: await loadReaders() };
}

/** Normalizes spans. Other work runs between them. */
export function toRows(
  { payload, prices, logs }: { payload: IngestBodyPayload; prices: Prices; logs: LogsOfSpans | undefined },
  spans: readonly Span[],
): Promise<SpanRow[]> {
  const { projectId, receivedAtMs, retentionDays } = payload;
  const budget = bodyBudget();
  return mapInSlices(spans, (span): SpanRow => {
    const own = logs?.recordsOf.get(span.traceId + span.spanId);
    const normalized = normalizeSpan(span, budget, logs && own && { records: own.records, readers: logs.readers });
    return {
      projectId,
      receivedAtMs,
      retentionDays,
      span,
      attributes: typeAttributes(span.attributes, normalized),
      normalized,
      prompt: promptMention(normalized.promptRef),
      cost: costOfSpan(prices, normalized, span.startUnixNano),
      logs: own === undefined ? noLogs : logsOf(own),
    };
  });
}

function logsOf({ records, known }: SpanRecords): SpanLogs {
  return { version: known, count: records.length, dropped: known - records.length, ofTrace: 0 };
}

/** Links the rows to those prompts that exist in the project. Never rejects. */
export async function linkRows(
  finder: PromptFinder,
  projectId: string,
  rows: readonly SpanRow[],
): Promise<readonly SpanRow[]> {
  return linkListedPrompts(finder, projectId, await resolveSpanPrompts(finder, projectId, rows));
}

/** Encodes rows for ClickHouse and counts the spans of each trace. */
export function encodeRows(rows: readonly SpanRow[]): EncodedBody {
  return {
    rows: spanTable.encode(rows),
    spanCount: rows.length,
    traces: tracesOf(rows),
    ...(rows.length <= lightSpansMax && { lightSpans: rows.map(lightSpanOf) }),
  };
}

/**
 * Returns the items that `read` decodes.
 * @throws BadBodyError when they are not as many as the API accepted
 */
export function decodeItems<Item>(
  payload: IngestBodyPayload,
  inflated: Buffer,
  limits: OtlpLimits,
  read: (encoding: IngestBodyPayload['encoding'], bytes: Buffer, limits: OtlpLimits) => Item[],
): Item[] {
  const items = read(payload.encoding, inflated, limits);
  if (items.length === payload.spans && items.length > 0) return items;
  throw new BadBodyError(
    `The body decodes to ${items.length} ${payload.signal ?? 'spans'}, ${payload.spans} were accepted`,
  );
}

function tracesOf(rows: readonly SpanRow[]): TraceShare[] {
  return sharesOf(rows.map(({ span }) => [span.traceId, 1]));
}

/** Adds up the counts of each trace. */
export function sharesOf(counts: readonly (readonly [traceId: string, count: number])[]): TraceShare[] {
  const shares = new Map<string, number>();
  for (const [traceId, count] of counts) shares.set(traceId, (shares.get(traceId) ?? 0) + count);
  return Array.from(shares, ([traceId, spans]) => ({ traceId, spans }));
}
