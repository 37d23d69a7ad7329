import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { check, formatPath, quote } from '../../../src/http/faults.ts';
import { closest } from '../../../src/lib/closest.ts';

function faultsOf(schema: z.ZodType, value: unknown) {
  const result = check(schema, value);
  return result.ok ? [] : result.faults;
}

describe('faults of a value', () => {
  test('in a union are those of the branch it came furthest in', () => {
    const message = z.union([
      z.strictObject({ placeholder: z.string() }),
      z.strictObject({ role: z.string(), content: z.strictObject({ text: z.string() }) }),
    ]);
    expect(faultsOf(message, { role: 'user', content: { text: 1 } })).toEqual([
      {
        path: 'content.text',
        code: 'invalid_type',
        message: 'Invalid input: expected string, received number; given 1',
      },
    ]);
  });
  test('carry the code a refinement gives them', () => {
    const even = z.number().refine((number) => number % 2 === 0, { error: 'must be even', params: { code: 'odd' } });
    expect(faultsOf(z.strictObject({ n: even }), { n: 3 })).toEqual([
      { path: 'n', code: 'odd', message: 'must be even; given 3' },
    ]);
  });
  test('name few unknown keys with a suggestion when there are thousands', () => {
    const known = Object.fromEntries(
      Array.from({ length: 10 }, (_, at) => [`known${at}`.padEnd(60, 'y'), z.string().optional()]),
    );
    const list = z.array(z.union([z.strictObject(known), z.strictObject({ ...known, more: z.string() })]));
    const unknown = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`known${at}`.padEnd(60, 'z'), 1]));
    const startedAtMs = performance.now();
    const faults = faultsOf(list, Array(200).fill(unknown));
    expect(performance.now() - startedAtMs).toBeLessThan(300);
    expect(faults).toHaveLength(50);
    expect(faults.every(({ code }) => code === 'unknown_field')).toBe(true);
  });
  test('suggest a name for the first ten unknown keys only, because each is compared with all known ones', () => {
    const unknown = Object.fromEntries(Array.from({ length: 12 }, (_, at) => [`threshol${at}`, 1]));
    const messages = faultsOf(z.strictObject({ threshold: z.int().optional() }), unknown).map(({ message }) => message);
    expect(messages.filter((message) => message.includes('did you mean "threshold"?'))).toHaveLength(10);
    expect(messages).toHaveLength(12);
  });
  test('of a time show one', () => {
    expect(faultsOf(z.strictObject({ from: z.iso.datetime({ offset: true }) }), { from: 'yesterday' })).toEqual([
      {
        path: 'from',
        code: 'invalid_format',
        message: 'must be a time in ISO 8601 with an offset, such as 2026-01-31T08:30:00Z; given "yesterday"',
      },
    ]);
  });
  test('are at most fifty, however many unknown keys there are', () => {
    const hostile = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`k${index}`, 1]));
    expect(faultsOf(z.strictObject({ key: z.string().optional() }), hostile)).toHaveLength(50);
  });
  test('never throw, whatever JSON comes', () => {
    const schema = z.strictObject({ a: z.string(), b: z.union([z.number(), z.strictObject({ c: z.array(z.int()) })]) });
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        for (const fault of faultsOf(schema, value)) expect(fault.message.length).toBeGreaterThan(0);
      }),
    );
  });
});

test('a path is dotted, with brackets for indexes and quotes for odd keys', () => {
  expect(formatPath(['spans', 0, 'attributes', 'gen_ai.system', ''])).toBe('spans[0].attributes["gen_ai.system"][""]');
});

test('a quoted value is short and says what was cut', () => {
  expect(quote('x'.repeat(200))).toBe(`"${'x'.repeat(80)}"… (200 characters)`);
  expect(quote('\u0000\ud800')).toBe('"\\u0000\\ud800"');
  expect([quote([1, 2]), quote({}), quote(null), quote(1.5)]).toEqual(['an array of 2', 'an object', 'null', '1.5']);
});

describe('a suggestion', () => {
  test.each([
    ['nmae', 'name'],
    ['Name', 'name'],
    ['descripton', 'description'],
    ['tgas', 'tags'],
  ])('for %s is %s', (word, expected) => {
    expect(closest(word, ['name', 'description', 'tags'])).toBe(expected);
  });
  test('is not made for something quite different', () => {
    expect(closest('webhook', ['name', 'description', 'tags'])).toBeUndefined();
  });
});

test('what is said of one field of an object does not quote the object', () => {
  const either = z
    .strictObject({ a: z.string().optional(), b: z.string().optional() })
    .refine(({ a, b }) => !(a && b), {
      path: ['b'],
      message: 'give either a or b',
    });
  const result = check(either, { a: 'x', b: 'y' });
  expect(result).toEqual({ ok: false, faults: [{ path: 'b', code: 'invalid', message: 'give either a or b' }] });
});
