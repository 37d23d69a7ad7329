import type { SpanKind } from '../../lib/span-kind.ts';
import type { AnyValue, Attributes, Span } from '../../otlp/span.ts';
import { limits } from './limits.ts';

/**
 * One source of one field: an attribute, a span event, or a family of attributes with a common
 * prefix. `read` gets the attribute's value, or null for the other two. It returns undefined when
 * the source has no value for the field.
 */
export interface Row<T> {
  readonly source: 'attribute' | 'event' | 'family' | 'indexed';
  readonly name: string;
  readonly read: Reader<T>;
}

export type Reader<T> = (value: AnyValue, reading: Reading) => T | undefined;

/**
 * A field and its sources, best first. `slot` is its index in `Reading.best`; `compileIndex` sets
 * it once.
 */
export interface Field<T> {
  readonly name: string;
  readonly rows: readonly Row<T>[];
  slot: number;
}

/**
 * One span that is being normalized. `best` has the rank of the best source present for each field.
 */
export interface Reading {
  readonly span: Span;
  readonly best: number[];
  /**
   * Attributes that belong to a family, in order. They are stored so that families need no second
   * walk over all attributes.
   */
  readonly familyKeys: string[];
  readonly warnings: string[];
  /** 'other' until the kind has been read. Some sources are valid for one kind only. */
  kind: SpanKind;
  /**
   * Values that were parsed already, by the JSON text or structure that was sent; null while there
   * are none.
   */
  parsed: Map<AnyValue, Parsed> | null;
  /** The attributes of the event that is being read; null for the span itself. See `eventReading`. */
  readonly event: Attributes | null;
  /**
   * How many values may still be read for this span; `leftOfBody` is the same for the whole request
   * body.
   */
  readonly left: ValueBudget;
  readonly leftOfBody: ValueBudget;
}

/** A value that was parsed, how many values it has, and the event that read it last. */
export interface Parsed {
  result: unknown;
  values: number;
  event: Attributes | null;
}

/** How many more values in JSON and structures may be read. */
export interface ValueBudget {
  values: number;
}

interface Hit {
  readonly slot: number;
  readonly rank: number;
}

interface Family extends Hit {
  readonly prefix: string;
  readonly indexed: boolean;
}

export interface Index {
  /** Initial content of `Reading.best`: every field is absent. */
  readonly absent: readonly number[];
  readonly attributes: ReadonlyMap<string, readonly Hit[]>;
  readonly events: ReadonlyMap<string, readonly Hit[]>;
  /** Grouped by first character, so that one lookup excludes most keys. */
  readonly families: ReadonlyMap<number, readonly Family[]>;
}

export const ABSENT = 255;

/**
 * Creates a field from its sources, best first.
 * @throws RangeError when there are 255 sources or more
 */
export function field<T>(name: string, rows: readonly Row<T>[]): Field<T> {
  if (rows.length >= ABSENT) throw new RangeError(`field ${name} has ${rows.length} sources, at most ${ABSENT - 1}`);
  return { name, rows, slot: -1 };
}

/** Returns a source for one attribute. */
export function attribute<T>(name: string, read: Reader<T>): Row<T> {
  return { source: 'attribute', name, read };
}

/** Returns sources for several attributes with the same reader, best first. */
export function attributes<T>(names: readonly string[], read: Reader<T>): Row<T>[] {
  return names.map((name) => attribute(name, read));
}

/** Returns a source for span events of this name. */
export function event<T>(name: string, read: Reader<T>): Row<T> {
  return { source: 'event', name, read };
}

/** Returns a source for all attributes that start with `prefix`. */
export function family<T>(prefix: string, read: Reader<T>): Row<T> {
  return { source: 'family', name: prefix, read };
}

/**
 * Returns a source for all attributes that start with `prefix` and a digit: `gen_ai.prompt.0.role`,
 * but not `gen_ai.prompt.name`.
 */
export function indexed<T>(prefix: string, read: Reader<T>): Row<T> {
  return { source: 'indexed', name: prefix, read };
}

/**
 * Builds an index from keys to fields, so that each key of a span is looked up once. Otherwise
 * every known name would have to be searched for in every span.
 */
export function compileIndex(fields: readonly Field<unknown>[]): Index {
  const byAttribute = new Map<string, Hit[]>();
  const byEvent = new Map<string, Hit[]>();
  const byInitial = new Map<number, Family[]>();
  fields.forEach((each, slot) => {
    each.slot = slot;
    each.rows.forEach(({ source, name }, rank) => {
      if (source === 'attribute') append(byAttribute, name, { slot, rank });
      else if (source === 'event') append(byEvent, name, { slot, rank });
      else append(byInitial, name.charCodeAt(0), { slot, rank, prefix: name, indexed: source === 'indexed' });
    });
  });
  return { absent: fields.map(() => ABSENT), attributes: byAttribute, events: byEvent, families: byInitial };
}

/** Walks over a span's keys once and records the best source present for every field. */
export function startReading(index: Index, span: Span, leftOfBody: ValueBudget): Reading {
  const reading: Reading = {
    span,
    best: index.absent.slice(),
    familyKeys: [],
    warnings: [],
    kind: 'other',
    parsed: null,
    event: null,
    left: { values: limits.spanValuesMax },
    leftOfBody,
  };
  for (const key of span.attributes.keys()) {
    const hits = index.attributes.get(key);
    if (hits !== undefined) note(reading.best, hits);
    else noteFamilies(reading, index.families.get(key.charCodeAt(0)), key);
  }
  for (const { name } of span.events) noteEvent(index, reading, name);
  return reading;
}

/** Records that an event of this name is present, for events that are added to a reading later. */
export function noteEvent(index: Index, reading: Reading, name: string): void {
  const hits = index.events.get(name);
  if (hits !== undefined) note(reading.best, hits);
}

/**
 * Returns the value of the best source that has one. A source that throws is skipped with a
 * warning.
 */
export function first<T>(reading: Reading, from: Field<T>): T | undefined {
  const rank = reading.best[from.slot] ?? ABSENT;
  return rank === ABSENT ? undefined : firstFrom(rank, reading, from);
}

function firstFrom<T>(bestRank: number, reading: Reading, { name, rows }: Field<T>): T | undefined {
  for (let rank = bestRank; rank < rows.length; rank++) {
    const row = rows[rank];
    if (row === undefined) return undefined;
    const value = row.source === 'attribute' ? reading.span.attributes.get(row.name) : null;
    if (value === undefined) continue;
    try {
      const found = row.read(value, reading);
      if (found !== undefined) return found;
    } catch {
      warn(reading, `normalizer_error:${name}`);
    }
  }
  return undefined;
}

/**
 * Runs `read` and returns `fallback` with a warning when it throws. An error then affects only one
 * field.
 */
export function guarded<T>(reading: Reading, name: string, read: () => T, fallback: T): T {
  try {
    return read();
  } catch {
    warn(reading, `normalizer_error:${name}`);
    return fallback;
  }
}

/** Adds a warning to the span unless it has that warning already. */
export function warn(reading: Reading, warning: string): void {
  if (!reading.warnings.includes(warning)) reading.warnings.push(warning);
}

function note(best: number[], hits: readonly Hit[]): void {
  for (const { slot, rank } of hits) if (rank < (best[slot] ?? 0)) best[slot] = rank;
}

function noteFamilies(reading: Reading, families: readonly Family[] | undefined, key: string): void {
  if (families === undefined) return;
  let belongs = false;
  for (const { slot, rank, prefix, indexed } of families) {
    if (!isBelow(key, prefix) || (indexed && !isDigit(key.charCodeAt(prefix.length)))) continue;
    belongs = true;
    if (rank < (reading.best[slot] ?? 0)) reading.best[slot] = rank;
  }
  if (belongs) reading.familyKeys.push(key);
}

/**
 * Returns `key.startsWith(prefix)`. Compares the last character of the prefix first, because that
 * rules out most keys at a third of the cost.
 */
export function isBelow(key: string, prefix: string): boolean {
  const last = prefix.length - 1;
  return key.charCodeAt(last) === prefix.charCodeAt(last) && key.startsWith(prefix);
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

function append<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [value]);
  else list.push(value);
}
