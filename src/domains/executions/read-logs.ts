import { z } from 'zod';
import { TooLargeError } from '../../lib/errors.ts';
import { groupsOf, mapInSlices } from '../../lib/pace.ts';
import { isoFromUnixNano } from '../../lib/time.ts';
import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { countRecords, findShownRecords, type RecordCount, type ShownRecord } from '../log-records/reads.ts';
import type { TraceKey } from '../spans/index.ts';
import { partNames, type SpanPart } from '../spans/reads.ts';
import { plainFromAnyValue, plainFromKeyValues } from './any-value-plain.ts';
import { hasManyValues } from './large-parts.ts';
import { ownerReader, type PartOwners } from './span-parts.schema.ts';

/** What `?include=` selects: the parts of a span, and its log records, which are stored apart. */
export const shownParts = [...partNames, 'logs'] as const;

export type ShownPart = SpanPart | 'logs';

export const logRecordSchema = z
  .object({
    time: z.iso.datetime().meta({ description: 'Its time; if unknown, when it was observed, or received' }),
    observed_time: z.iso.datetime().nullable(),
    event_name: z.string().nullable(),
    severity_number: z.number().int().meta({ description: 'OTLP SeverityNumber; 0 is unknown' }),
    severity_text: z.string().nullable(),
    body: z.unknown(),
    attributes: z.record(z.string(), z.unknown()),
    scope: z.record(z.string(), z.unknown()),
    dropped_attributes_count: z.number().int(),
  })
  .meta({ id: 'LogRecord' });

/**
 * Returns the log records of a span as JSON text. It is called for spans in the order in which they were given: only
 * the texts of a few are in memory.
 * @throws TooLargeError when those of one span are too large
 * @throws UnavailableError while ClickHouse is unavailable
 */
export type LogsOf = (spanId: string) => Promise<string>;

const noRecords = '[]';
/** Bytes of one read. In a worker thread, only the records of one span have more than those of a group. */
const bytesMax = { here: 4 * 1024 * 1024, inThread: 64 * 1024 * 1024 };
/** The spans of one read: in the main thread without counting their records, in a worker thread by their bytes. */
const groupMax = {
  here: { bytesMax: 0, lengthMax: 32 },
  inThread: { bytesMax: 4 * 1024 * 1024, lengthMax: 256 },
};

type Keys = readonly ({ traceId: string; spanId: string; bytes: number } & Partial<RecordCount>)[];

/**
 * Returns a function that reads the log records of spans of one trace in turn, each time those of a few spans. It
 * throws TooLargeError when they are too large for the main thread.
 */
export function logsReader(
  { clickhouse, large }: { clickhouse: ClickHouse; large: boolean },
  trace: TraceKey,
): (spanIds: readonly string[]) => LogsOf {
  const { projectId, traceId } = trace;
  const owners = ownerReader();

  async function groups(spanIds: readonly string[]): Promise<Keys[]> {
    const keys = spanIds.map((spanId) => ({ traceId, spanId, bytes: 0 }));
    if (!large || keys.length === 1) return groupsOf(keys, groupMax.here);
    const counted = await countRecords(clickhouse, projectId, { traceIds: [traceId], spans: keys }).catch(
      (error: unknown) => {
        if (error instanceof TooLargeError) return undefined;
        throw error;
      },
    );
    if (counted === undefined) return groupsOf(keys, groupMax.here);
    const countOf = new Map(counted.map((count) => [count.spanId, count]));
    return groupsOf(
      keys.map((key) => ({ ...key, records: 0, ...countOf.get(key.spanId) })),
      groupMax.inThread,
    );
  }

  async function read(keys: Keys): Promise<Map<string, string>> {
    const most = large ? bytesMax.inThread : bytesMax.here;
    const found = await findShownRecords(clickhouse, projectId, { keys, bytesMax: most });
    if (!large) requireSmall(found);
    const texts = await recordTexts(found, owners);
    return new Map(keys.map(({ spanId }) => [spanId, texts.get(traceId + spanId) ?? noRecords]));
  }

  return (spanIds) => {
    const wanted = new Set(spanIds);
    let left: Keys[] | undefined;
    let texts: ReadonlyMap<string, string> = new Map();
    return async (spanId) => {
      if (!wanted.has(spanId)) return noRecords;
      left ??= await groups(spanIds);
      while (!texts.has(spanId)) {
        const next = left.shift();
        if (next === undefined) return noRecords;
        try {
          texts = await read(next);
        } catch (error) {
          if (!(error instanceof TooLargeError) || !large || next.length === 1) throw error;
          left.unshift(...next.map((key) => [key]));
        }
      }
      return texts.get(spanId) ?? noRecords;
    };
  };
}

/** Characters of one record that are converted in one step on the main thread, if it has few values: about 25 ms. */
const recordCharsMax = 1_000_000;

/** @throws TooLargeError when one record alone would delay other requests */
export function requireSmall(found: ReadonlyMap<string, readonly ShownRecord[]>): void {
  const isLarge = ({ body, attributes, scope, eventName, severityText }: ShownRecord) =>
    body.length + attributes.length + scope.length + eventName.length + severityText.length > recordCharsMax ||
    hasManyValues([body, attributes, scope]);
  if (![...found.values()].some((records) => records.some(isLarge))) return;
  throw new TooLargeError(
    'result_too_large',
    `A log record has more than ${recordCharsMax} characters, or too many values`,
  );
}

/**
 * Returns the records of each key as the text of a JSON list. Works in slices, because values of many
 * members take ten times as long as others of the same size.
 */
export async function recordTexts(
  found: ReadonlyMap<string, readonly ShownRecord[]>,
  owners: PartOwners,
): Promise<Map<string, string>> {
  const shown = [...found].flatMap(([key, records]) => records.map((record) => ({ key, record })));
  const converted = await mapInSlices(shown, ({ key, record }) => ({ key, text: recordText(record, owners) }));
  const texts = new Map<string, string[]>([...found.keys()].map((key) => [key, []]));
  for (const { key, text } of converted) texts.get(key)?.push(text);
  return new Map([...texts].map(([key, own]) => [key, `[${own.join()}]`]));
}

function recordText(record: ShownRecord, owners: PartOwners): string {
  const { timeUnixNano, observedUnixNano, receivedAtMs } = record;
  const head = JSON.stringify({
    time: isoFromUnixNano(timeUnixNano || observedUnixNano || BigInt(receivedAtMs) * 1_000_000n),
    observed_time: observedUnixNano === 0n ? null : isoFromUnixNano(observedUnixNano),
    event_name: record.eventName || null,
    severity_number: record.severityNumber,
    severity_text: record.severityText || null,
    body: plainFromAnyValue(JSON.parse(record.body)),
    attributes: plainFromKeyValues(JSON.parse(record.attributes)),
    dropped_attributes_count: record.droppedAttributesCount,
  });
  return `${head.slice(0, -1)},"scope":${owners(record.scope)}}`;
}
