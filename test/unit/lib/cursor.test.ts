import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { decodeCursor, encodeCursor, fingerprintOf } from '../../../src/lib/cursor.ts';
import { MalformedError } from '../../../src/lib/errors.ts';

const scalar = fc.oneof(fc.string({ unit: 'binary' }), fc.integer(), fc.boolean(), fc.constant(null));
const position = fc.array(scalar, { maxLength: 4 });
const anyPosition = z.array(z.union([z.string(), z.number(), z.boolean(), z.null()]));
const codeOf = (run: () => unknown) => {
  try {
    run();
  } catch (error) {
    return error instanceof MalformedError ? error.code : String(error);
  }
  return 'accepted';
};

describe('a cursor', () => {
  test('of any position comes back as it was', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), position, (secret, fingerprint, at) => {
        const cursor = encodeCursor(secret, fingerprint, at);
        expect(cursor).toMatch(/^[A-Za-z0-9_-]+$/);
        expect(decodeCursor(secret, fingerprint, cursor, anyPosition)).toEqual(at);
      }),
    );
  });
  test('for another fingerprint is cursor_mismatch', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), position, (a, b, at) => {
        fc.pre(a !== b);
        expect(codeOf(() => decodeCursor('s', b, encodeCursor('s', a, at), anyPosition))).toBe('cursor_mismatch');
      }),
    );
  });
  test('signed with another secret is invalid_cursor', () => {
    expect(codeOf(() => decodeCursor('s2', 'f', encodeCursor('s1', 'f', [1]), anyPosition))).toBe('invalid_cursor');
  });
  test('changed in any one character is invalid_cursor', () => {
    const cursor = encodeCursor('s', 'f', ['2026-01-01T00:00:00.000Z', 'prm_1']);
    fc.assert(
      fc.property(fc.nat(cursor.length - 1), fc.constantFrom(...'AZaz09-_=. \n'), (index, character) => {
        fc.pre(cursor[index] !== character);
        const changed = cursor.slice(0, index) + character + cursor.slice(index + 1);
        expect(codeOf(() => decodeCursor('s', 'f', changed, anyPosition))).toBe('invalid_cursor');
      }),
      { numRuns: 500 },
    );
  });
  test('of arbitrary text is invalid_cursor and nothing worse', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
        expect(codeOf(() => decodeCursor('s', 'f', text, anyPosition))).toBe('invalid_cursor');
      }),
    );
  });
  test('whose position has another shape than the list reads is invalid_cursor', () => {
    const cursor = encodeCursor('s', 'f', ['text']);
    expect(codeOf(() => decodeCursor('s', 'f', cursor, z.tuple([z.number()])))).toBe('invalid_cursor');
  });
});

describe('a fingerprint', () => {
  test('does not depend on the order of keys, at any depth, nor on undefined', () => {
    expect(fingerprintOf({ b: { y: 1, x: 2 }, a: 1, c: undefined })).toBe(fingerprintOf({ a: 1, b: { x: 2, y: 1 } }));
  });
  test('differs for different values', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), scalar), fc.dictionary(fc.string(), scalar), (a, b) => {
        const same = JSON.stringify(Object.entries(a).sort()) === JSON.stringify(Object.entries(b).sort());
        expect(fingerprintOf(a) === fingerprintOf(b)).toBe(same);
      }),
    );
  });
});
