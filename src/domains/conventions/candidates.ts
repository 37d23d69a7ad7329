import type { SpanKind } from '../../lib/span-kind.ts';
import type { AnyValue, Span } from '../../otlp/span.ts';
import { limits } from './limits.ts';

/**
 * One source of one field: an attribute, a span event, or a family of attributes below a prefix.
 * `read` gets the attribute's value (null for the other two) and answers undefined when it says nothing.
 */
export interface Row<T> {
  readonly source: 'attribute' | 'event' | 'family' | 'indexed';
  readonly name: string;
  readonly read: Reader<T>;
}

export type Reader<T> = (value: AnyValue, reading: Reading) => T | undefined;

/** A field and its sources, best first. `slot` is its place in `Reading.best`, set once by `compileIndex`. */
export interface Field<T> {
  readonly name: string;
  readonly rows: readonly Row<T>[];
  slot: number;
}

/** One span being normalised: for each field, the rank of the best source the span has. */
export interface Reading {
  readonly span: Span;
  readonly best: number[];
  /** The attributes that belong to some family, in order, so that a family is read without a second walk. */
  readonly familyKeys: string[];
  readonly warnings: string[];
  /** Set once the kind is known; some sources hold for one kind only. */
  kind: SpanKind;
  /** Values already read for this span, by the JSON text or structure they were sent as; null until there is some. */
  parsed: Map<AnyValue, unknown> | null;
  /** What may still be read of this span, and of its whole body. */
  readonly left: ValueBudget;
  readonly leftOfBody: ValueBudget;
}

/** How many more values of JSON and structures may be read. */
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
  /** What `Reading.best` starts as: every field absent. */
  readonly absent: readonly number[];
  readonly attributes: ReadonlyMap<string, readonly Hit[]>;
  readonly events: ReadonlyMap<string, readonly Hit[]>;
  /** By first character, so that most keys are turned away by one look. */
  readonly families: ReadonlyMap<number, readonly Family[]>;
}

export const ABSENT = 255;

export function field<T>(name: string, rows: readonly Row<T>[]): Field<T> {
  if (rows.length >= ABSENT) throw new RangeError(`field ${name} has ${rows.length} sources, at most ${ABSENT - 1}`);
  return { name, rows, slot: -1 };
}

export function attribute<T>(name: string, read: Reader<T>): Row<T> {
  return { source: 'attribute', name, read };
}

/** Several attributes with one reader, best first. */
export function attributes<T>(names: readonly string[], read: Reader<T>): Row<T>[] {
  return names.map((name) => attribute(name, read));
}

export function event<T>(name: string, read: Reader<T>): Row<T> {
  return { source: 'event', name, read };
}

/** Any attribute that starts with `prefix`. */
export function family<T>(prefix: string, read: Reader<T>): Row<T> {
  return { source: 'family', name: prefix, read };
}

/** Any attribute that starts with `prefix` and a digit: `gen_ai.prompt.0.role`, but not `gen_ai.prompt.name`. */
export function indexed<T>(prefix: string, read: Reader<T>): Row<T> {
  return { source: 'indexed', name: prefix, read };
}

/** Turns the tables inside out, so that a span's keys are looked up instead of every known name being probed. */
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

/** Walks a span's keys once and notes, for every field, the best source present. */
export function startReading(index: Index, span: Span, leftOfBody: ValueBudget): Reading {
  const reading: Reading = {
    span,
    best: index.absent.slice(),
    familyKeys: [],
    warnings: [],
    kind: 'other',
    parsed: null,
    left: { values: limits.spanValuesMax },
    leftOfBody,
  };
  for (const key of span.attributes.keys()) {
    const hits = index.attributes.get(key);
    if (hits !== undefined) note(reading.best, hits);
    else noteFamilies(reading, index.families.get(key.charCodeAt(0)), key);
  }
  for (const { name } of span.events) {
    const hits = index.events.get(name);
    if (hits !== undefined) note(reading.best, hits);
  }
  return reading;
}

/** The first source, from the best present on, that says something. A reader that throws is passed over with a warning (N4). */
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
      warn(reading, `normaliser_error:${name}`);
    }
  }
  return undefined;
}

/** Whatever goes wrong in one field costs that field only. */
export function guarded<T>(reading: Reading, name: string, read: () => T, fallback: T): T {
  try {
    return read();
  } catch {
    warn(reading, `normaliser_error:${name}`);
    return fallback;
  }
}

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

/** `key.startsWith(prefix)`, looking at the prefix's last character first: most keys end there, at a third of the cost. */
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
