import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { executionBody } from '../../../src/domains/ingestion/create-execution/execution-body.ts';
import { parseJson, parseSteps } from '../../../src/http/parse-json.ts';
import { parseBody } from '../../../src/http/validate.ts';
import { AppError } from '../../../src/lib/errors.ts';

const mebibyte = 1024 * 1024;

function parseInSteps(bytes: Buffer): unknown {
  const steps = parseSteps(bytes);
  let step = steps.next();
  while (!step.done) step = steps.next();
  return step.value;
}

/** What a text is parsed to, or the code of its refusal. */
async function outcome(parse: (bytes: Buffer) => unknown, text: string | Buffer): Promise<unknown> {
  try {
    return { value: await parse(Buffer.from(text as string)) };
  } catch (error) {
    return { code: Object(error).code };
  }
}

describe('JSON parsed in pieces', () => {
  test('may have texts of any length, but at most four names of 16,000 bytes and more', async () => {
    const of = (names: number, length = 16_000) =>
      JSON.stringify(Object.fromEntries(Array.from({ length: names }, (_, n) => [`${n}`.padEnd(length, 'n'), 1])));
    expect(await outcome(parseInSteps, of(100, 15_000))).toHaveProperty('value');
    expect(await outcome(parseInSteps, JSON.stringify({ a: ['v'.repeat(1_000_000)] }))).toHaveProperty('value');
    expect(await outcome(parseInSteps, of(4))).toHaveProperty('value');
    expect(await outcome(parseInSteps, of(5))).toEqual({ code: 'body_too_large' });
    expect(await outcome(parseInSteps, of(5).replaceAll('":1', '" : 1'))).toEqual({ code: 'body_too_large' });
  });

  test('is what it is when parsed at once, for any value', async () => {
    const key = fc.oneof(fc.constantFrom('spans', '__proto__', 'a"b', '\\', 'é'), fc.string());
    const root = fc.dictionary(key, fc.oneof(fc.jsonValue(), fc.array(fc.jsonValue())));
    await fc.assert(
      fc.asyncProperty(fc.oneof(root, fc.jsonValue()), fc.constantFrom(undefined, 1, '\t'), async (value, indent) => {
        const text = JSON.stringify(value, undefined, indent);
        expect(await outcome(parseInSteps, text)).toEqual(await outcome(parseJson, text));
      }),
    );
  });

  test('is refused where parsing at once refuses, for any text that nearly is JSON', async () => {
    const token = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"a"',
      '"',
      '\\',
      '1',
      'null',
      ' ',
      '\uFEFF',
      '"\\ud800"',
    );
    await fc.assert(
      fc.asyncProperty(fc.array(token, { maxLength: 12 }), async (tokens) => {
        const text = `{"a":${tokens.join('')}`;
        expect(await outcome(parseInSteps, text)).toEqual(await outcome(parseJson, text));
      }),
      { numRuns: 3_000 },
    );
  });

  test.each(['[', '{"a":', '{"a":[', '{"a":[{"b":'])(
    'nested without end by %s is refused before it is parsed',
    async (open) => {
      const text = open.repeat(Math.floor(mebibyte / open.length));
      expect(await outcome(parseInSteps, text)).toEqual({ code: 'json_too_deep' });
    },
  );

  test('names the place of what is wrong within a list', async () => {
    const bytes = Buffer.from('{"spans":[{"name":"a"},{"name":"\\u0000"}]}');
    expect(() => parseInSteps(bytes)).toThrow(
      expect.objectContaining({ errors: [expect.objectContaining({ path: 'spans[1].name' })] }),
    );
    expect(() => parseInSteps(Buffer.from('{"spans":[{},{x}]}'))).toThrow('spans[1]');
  });
});

/** The worst bodies of 8 MiB, by what they hold. */
const worst: Readonly<Record<string, string>> = {
  'empty lists': `[${'[],'.repeat((8 * mebibyte) / 3 - 2)}[]]`,
  'empty objects in a member': `{"spans":[${'{},'.repeat((8 * mebibyte) / 3 - 10)}{}]}`,
  'numbers in a member': `{"tags":[${'1,'.repeat(4 * mebibyte - 10)}1]}`,
  'members with different names': `{${Array.from({ length: 500_000 }, (_, index) => `"k${index}":1`).join()}}`,
  'as many wrong elements as fit': `{"tags":[${'{},'.repeat(9_900)}{}]}`,
  'as many unknown fields as fit': `{${Array.from({ length: 17_000 }, (_, index) => `"k${index}":1`).join()}}`,
  'one text of escaped quotes': `{"input":"${'\\"'.repeat(4 * mebibyte - 10)}"}`,
  'one text of as many escapes as fit': `{"input":"${'\\\\'.repeat(2_550_000)}${'a'.repeat(3 * mebibyte)}"}`,
  'one text of two-byte characters': `{"input":"${'é'.repeat(4 * mebibyte - 10)}"}`,
  'one text of symbols beyond the basic plane': `{"input":"\\u00e9${'😀'.repeat(2 * mebibyte - 10)}"}`,
  'one element with as many values as fit': `{"spans":[{"metadata":{"a":[${'[],'.repeat(31_000)}[]]}}]}`,
};

test.each(Object.entries(worst))(
  'a body of %s is parsed and validated, or refused, in steps of which none holds up the event loop',
  (_name, text) => {
    const bytes = Buffer.from(text);
    // The work is the same each time. What differs is the machine's: other programs, memory touched first.
    const tries = Array.from({ length: 3 }, () => costOf(bytes));
    // The collector's threads are in it.
    expect(Math.min(...tries.map(({ longest }) => longest))).toBeLessThan(90);
    expect(Math.min(...tries.map(({ total }) => total))).toBeLessThan(600);
  },
);

/** Milliseconds of the processor, rather than of the clock, for the longest step and for all. */
function costOf(bytes: Buffer): { longest: number; total: number } {
  let total = 0;
  let longest = 0;
  const measure = <T>(step: () => T): T => {
    const before = process.cpuUsage();
    try {
      return step();
    } finally {
      const { user, system } = process.cpuUsage(before);
      total += (user + system) / 1_000;
      longest = Math.max(longest, (user + system) / 1_000);
    }
  };
  try {
    const steps = parseSteps(bytes);
    let step = measure(() => steps.next());
    while (!step.done) step = measure(() => steps.next());
    const body = step.value;
    measure(() => parseBody(executionBody, body));
  } catch (error) {
    expect(error).toBeInstanceOf(AppError);
  }
  return { longest, total };
}
