import fc from 'fast-check';
import { mutatedBytes } from '../values/mutate.ts';

/** Cursors of other lists, unchanged or with flipped bits, and texts that never were a cursor. */
export function cursorText(issued: fc.Arbitrary<string>, hostile: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc.oneof(
    { arbitrary: issued, weight: 3 },
    {
      arbitrary: issued
        .chain((cursor) => mutatedBytes(Buffer.from(cursor, 'base64url')))
        .map((bytes) => bytes.toString('base64url')),
      weight: 3,
    },
    {
      arbitrary: issued.chain((cursor) => mutatedBytes(Buffer.from(cursor))).map((bytes) => bytes.toString('latin1')),
      weight: 1,
    },
    { arbitrary: hostile, weight: 1 },
  );
}
