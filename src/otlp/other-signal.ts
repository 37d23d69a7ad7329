import { MalformedError } from '../lib/errors.ts';
import type { OtlpLimits } from './limits.ts';
import type { ExportedSignal, Signal } from './signal.ts';
import { WireReader } from './wire.ts';

interface SignalMarks {
  /** The only member that a request of the signal has in OTLP/JSON. */
  root: string;
  items: string;
  /** Tags (field number * 8 + wire type) that an item of the signal may have in protobuf. */
  tags: ReadonlySet<number>;
}

const wire = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

/** Span of trace.proto, LogRecord of logs.proto and Metric of metrics.proto. */
const marks: Readonly<Record<ExportedSignal, SignalMarks>> = {
  traces: {
    root: 'resourceSpans',
    items: 'spans',
    tags: tagsOf(
      [wire.bytes, [1, 2, 3, 4, 5, 9, 11, 13, 15]],
      [wire.varint, [6, 10, 12, 14]],
      [wire.fixed64, [7, 8]],
      [wire.fixed32, [16]],
    ),
  },
  logs: {
    root: 'resourceLogs',
    items: 'log records',
    tags: tagsOf(
      [wire.bytes, [3, 5, 6, 9, 10, 12]],
      [wire.varint, [2, 7]],
      [wire.fixed64, [1, 11]],
      [wire.fixed32, [8]],
    ),
  },
  metrics: { root: 'resourceMetrics', items: 'metrics', tags: tagsOf([wire.bytes, [1, 2, 3, 5, 7, 9, 10, 11, 12]]) },
};
const signals: readonly ExportedSignal[] = ['traces', 'logs', 'metrics'];
/** Other tags say nothing about the signal, and a body can have very many of them. */
const knownTags: ReadonlySet<number> = new Set(signals.flatMap((signal) => [...marks[signal].tags]));

/** The tags from a request to its items, which are the same for all signals. */
const tagsToItems = [0x0a, 0x12, 0x12];

/**
 * Refuses OTLP/JSON that has the root of another signal, and not that of `signal`. Without this,
 * an exporter that is configured with the path of another signal would lose everything unnoticed.
 * @throws MalformedError that names the right path
 */
export function refuseOtherRoot(signal: Signal, root: Readonly<Record<string, unknown>>): void {
  const has = (name: ExportedSignal) => (root[marks[name].root] ?? null) !== null;
  if (has(signal)) return;
  const others = signals.filter(has);
  if (others.length > 0) refuse(signal, `it has ${others.map((name) => marks[name].root).join(' and ')}`, others);
}

/**
 * Refuses protobuf whose items have fields of another signal, and none that only `signal` has. The
 * field numbers are those of every signal, so the wire types decide. Call it after a scan: a body
 * of another signal is malformed, or `signal` accepts no span of it. Log records are accepted
 * whatever fields they have, so they are always examined, usually no more than the first.
 * @throws MalformedError that names the right path
 */
export function refuseOtherItems(signal: Signal, accepted: number, bytes: Uint8Array, limits: OtlpLimits): void {
  if (signal === 'traces' && accepted > 0) return;
  const others = otherSignals(signal, new WireReader(bytes, limits));
  if (others.length > 0)
    refuse(signal, `its fields are those of ${others.map((name) => marks[name].items).join(' or ')}`, others);
}

/**
 * Returns the signals whose items the body has. More than one if the fields that the body has are
 * the same in several: a name alone could be that of a span or of a metric.
 */
function otherSignals(signal: Signal, reader: WireReader): readonly ExportedSignal[] {
  const seen = new Set<number>();
  const hasTagOf = (one: ExportedSignal, other: ExportedSignal) =>
    [...seen].some((tag) => marks[one].tags.has(tag) && !marks[other].tags.has(tag));
  let possible = signals.filter((other) => other !== signal);
  const note = (tag: number) => {
    if (!knownTags.has(tag) || seen.has(tag)) return true;
    seen.add(tag);
    possible = possible.filter((other) => !hasTagOf(signal, other));
    return possible.length > 0;
  };
  try {
    if (!eachItemTag(reader, reader.bytes.length, 0, note)) return [];
  } catch (error) {
    if (error instanceof MalformedError) return [];
    throw error;
  }
  const fitting = possible.filter((other) => hasTagOf(other, signal));
  return fitting.filter((other) => !fitting.some((rival) => hasTagOf(rival, other)));
}

/** Calls `note` with the tag of each field of each item. Stops and returns false when it returns false. */
function eachItemTag(reader: WireReader, end: number, level: number, note: (tag: number) => boolean): boolean {
  while (reader.pos < end) {
    const tag = reader.tag(end);
    if (level === tagsToItems.length && !note(tag)) return false;
    if (tag !== tagsToItems[level]) reader.skip(tag, end);
    else if (!eachItemTag(reader, reader.message(end), level + 1, note)) return false;
  }
  return true;
}

function refuse(signal: Signal, why: string, others: readonly ExportedSignal[]): never {
  const paths = others.map((other) => `${other} to /api/v1/${other}`).join(', ');
  throw new MalformedError('malformed_otlp', `Not an OTLP ${signal} body: ${why}; send ${paths}`);
}

function tagsOf(...fields: readonly (readonly [wireType: number, numbers: readonly number[]])[]): ReadonlySet<number> {
  return new Set(fields.flatMap(([wireType, numbers]) => numbers.map((number) => number * 8 + wireType)));
}
