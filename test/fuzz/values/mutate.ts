import fc from 'fast-check';

type Path = readonly (string | number)[];

/** Every place in a JSON value, its own root included. */
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

/** The values of `valid` with one or two places replaced by `hostile`; now and then with a member too many. */
export function mutated(valid: fc.Arbitrary<unknown>, hostile: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const changes = fc.array(fc.tuple(fc.noBias(fc.nat()), hostile), { minLength: 1, maxLength: 2 });
  return fc.tuple(valid, changes, fc.noBias(fc.integer({ min: 0, max: 9 }))).map(([value, drawn, more]) => {
    let changed = value;
    for (const [at, replaced] of drawn) {
      const places = placesOf(changed);
      const place = places[at % places.length] ?? [];
      // To replace everything is of little use but once in a while.
      if (place.length > 0 || at % 16 === 0) changed = withValueAt(changed, place, replaced);
    }
    return more === 0 && isPlainObject(changed) ? { ...changed, surplus: drawn[0]?.[1] } : changed;
  });
}

/** `bytes` after one to four changes: a bit turned, a piece cut, repeated, moved or filled with noise. */
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
