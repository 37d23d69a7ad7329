import { z } from 'zod';
import { TooLargeError } from '../../lib/errors.ts';
import { mapInSlices } from '../../lib/pace.ts';
import { isoFromUnixNano } from '../../lib/time.ts';
import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { findShownRecords, type ShownRecord } from '../log-records/reads.ts';
import type { TraceKey } from '../spans/index.ts';
import { partNames, type SpanPart } from '../spans/reads.ts';
import { plainFromAnyValue, plainFromKeyValues } from './any-value-plain.ts';
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

const spansAtOnce = 32;
/** Bytes of one read, in the main thread and in a worker thread. */
const bytesMax = { here: 4 * 1024 * 1024, inThread: 64 * 1024 * 1024 };

/**
 * Returns a function that reads the log records of spans of one trace, as JSON text by span id. It
 * throws TooLargeError when they are too large for the main thread.
 */
export function logsReader(
  { clickhouse, large }: { clickhouse: ClickHouse; large: boolean },
  trace: TraceKey,
): (spanIds: readonly string[]) => Promise<ReadonlyMap<string, string>> {
  const owners = ownerReader();
  async function read(spanIds: readonly string[], into: Map<string, string>): Promise<void> {
    const keys = spanIds.map((spanId) => ({ traceId: trace.traceId, spanId }));
    const most = large ? bytesMax.inThread : bytesMax.here;
    try {
      const found = await findShownRecords(clickhouse, trace.projectId, { keys, bytesMax: most });
      if (!large) requireSmall(found);
      for (const [key, text] of await recordTexts(found, owners)) into.set(key.slice(trace.traceId.length), text);
    } catch (error) {
      if (!(error instanceof TooLargeError) || !large || spanIds.length === 1) throw error;
      for (const spanId of spanIds) await read([spanId], into);
    }
  }
  return async (spanIds) => {
    const texts = new Map<string, string>();
    for (let start = 0; start < spanIds.length; start += spansAtOnce) {
      await read(spanIds.slice(start, start + spansAtOnce), texts);
    }
    return texts;
  };
}

/** Characters of one record that are converted in one step on the main thread: about 25 ms. */
const recordCharsMax = 1_000_000;

/** @throws TooLargeError when one record alone would delay other requests */
export function requireSmall(found: ReadonlyMap<string, readonly ShownRecord[]>): void {
  const isLarge = ({ body, attributes, scope, eventName, severityText }: ShownRecord) =>
    body.length + attributes.length + scope.length + eventName.length + severityText.length > recordCharsMax;
  if (![...found.values()].some((records) => records.some(isLarge))) return;
  throw new TooLargeError('result_too_large', `A log record has more than ${recordCharsMax} characters`);
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
