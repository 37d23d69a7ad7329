import fc from 'fast-check';
import { hostileNumber, hostileText, hostileTime, hostileValue, type Sizes } from './hostile.ts';

type Path = readonly (string | number)[];

/** Returns the path of every place in a JSON value, including the root. */
function placesOf(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null || 'toJSON' in value) return [path];
  const members = Array.isArray(value) ? value.map((each, at) => [at, each] as const) : Object.entries(value);
  return [path, ...members.slice(0, 30).flatMap(([name, each]) => placesOf(each, [...path, name]))];
}

function withValueAt(value: unknown, [name, ...rest]: Path, replaced: unknown): unknown {
  if (name === undefined) return replaced;
  if (Array.isArray(value)) return value.map((each, at) => (at === name ? withValueAt(each, rest, replaced) : each));
  const entries = Object.entries(value as object);
  return Object.fromEntries(
    entries.map(([key, each]) => [key, key === name ? withValueAt(each, rest, replaced) : each]),
  );
}

function isPlainObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !('toJSON' in value);
}

interface Change {
  at: number;
  isSameKind: boolean;
  any: unknown;
  text: string;
  time: string;
  number: unknown;
}

/** Returns a replacement for a value. Most replacements have the same type, because they pass the check of types. */
function standIn(value: unknown, { isSameKind, any, text, time, number }: Change): unknown {
  if (!isSameKind) return any;
  if (typeof value === 'number') return number;
  if (typeof value !== 'string') return any;
  if (/^\d{4}-\d\d-\d\dT/.test(value)) return time;
  return /^\d+$/.test(value) && typeof number === 'number' ? String(number) : text;
}

const valueAt = (value: unknown, path: Path): unknown =>
  path.reduce<unknown>((inner, name) => (inner as Record<string | number, unknown>)[name], value);

/**
 * Returns values of `valid` with one or two places replaced by hostile values. These have any type,
 * or the type of the replaced value. Some objects also get a surplus member.
 */
export function mutated(
  valid: fc.Arbitrary<unknown>,
  sizes: Sizes,
  any: fc.Arbitrary<unknown> = hostileValue(sizes),
): fc.Arbitrary<unknown> {
  const change = fc.record({
    at: fc.noBias(fc.nat()),
    isSameKind: fc.oneof({ arbitrary: fc.constant(true), weight: 3 }, { arbitrary: fc.constant(false), weight: 2 }),
    any,
    text: hostileText(sizes),
    time: hostileTime,
    number: hostileNumber,
  });
  const changes = fc.array(change, { minLength: 1, maxLength: 2 });
  return fc.tuple(valid, changes, fc.noBias(fc.integer({ min: 0, max: 9 }))).map(([value, drawn, more]) => {
    let changed = value;
    for (const each of drawn) {
      const places = placesOf(changed);
      const place = places[each.at % places.length] ?? [];
      // The root is replaced only in a few cases, because this tests little.
      if (place.length === 0 && each.at % 16 !== 0) continue;
      changed = withValueAt(changed, place, standIn(valueAt(changed, place), each));
    }
    return more === 0 && isPlainObject(changed) ? { ...changed, surplus: drawn[0]?.any } : changed;
  });
}

/**
 * Returns `bytes` after one to four changes: a bit is flipped, or a part is removed, repeated,
 * overwritten or replaced by another part.
 */
export function mutatedBytes(bytes: Buffer): fc.Arbitrary<Buffer> {
  const change = fc.record({
    how: fc.noBias(fc.integer({ min: 0, max: 5 })),
    at: fc.noBias(fc.nat()),
    length: fc.integer({ min: 1, max: 64 }),
    bit: fc.nat({ max: 255 }),
  });
  return fc.array(change, { minLength: 1, maxLength: 4 }).map((changes) => changes.reduce(applyChange, bytes));
}

function applyChange(
  bytes: Buffer,
  { how, at, length, bit }: { how: number; at: number; length: number; bit: number },
): Buffer {
  if (bytes.length === 0) return Buffer.from([bit]);
  const from = at % bytes.length;
  const [head, piece, tail] = [
    bytes.subarray(0, from),
    bytes.subarray(from, from + length),
    bytes.subarray(from + length),
  ];
  const changes = [
    () => Buffer.concat([head, Buffer.from([(bytes[from] ?? 0) ^ (1 << (bit % 8))]), bytes.subarray(from + 1)]),
    () => head,
    () => Buffer.concat([head, tail]),
    () => Buffer.concat([head, piece, piece, tail]),
    () => Buffer.concat([head, Buffer.alloc(piece.length, bit), tail]),
    () => Buffer.concat([head, bytes.subarray(bit % bytes.length, (bit % bytes.length) + length), tail]),
  ];
  return changes[how]?.() ?? bytes;
}
