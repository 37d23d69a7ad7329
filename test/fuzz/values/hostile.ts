import fc from 'fast-check';
import { RawJson } from './raw-json.ts';

/** The largest sizes of generated values. They limit the duration of a short run. */
export interface Sizes {
  /** Characters of one text. */
  textCharsMax: number;
  /** Elements of one list or object. */
  elementsMax: number;
  /** Levels of nesting. */
  levelsMax: number;
}

const times = [
  ...['0000-01-01T00:00:00.000Z', '0001-01-01T00:00:00Z', '-000001-01-01T00:00:00Z', '1969-12-31T23:59:59.999Z'],
  ...['1970-01-01T00:00:00Z', '2016-12-31T23:59:60Z', '2023-02-29T00:00:00Z', '2106-02-07T06:28:16Z'],
  ...['2262-04-11T23:47:16.855Z', '2554-07-21T23:34:33.709Z', '2554-07-22T00:00:00Z', '9999-12-31T23:59:59.999Z'],
  ...['10000-01-01T00:00:00Z', '+010000-01-01T00:00:00Z', '+275760-09-13T00:00:00.001Z', '2024-01-01T00:00:00+99:99'],
];
const numerals = [
  ...['-1', '0', '-0', '1.5', '1e3', '1e400', '0x10', '1_000', '٣', '½', 'NaN', 'Infinity', '-Infinity', '1.', '.5'],
  ...['9007199254740991', '9007199254740993', '9223372036854775807', '9223372036854775808', '-9223372036854775809'],
  ...[
    '18446744073709551615',
    '18446744073709551616',
    '4294967296',
    '2147483648',
    `1${'0'.repeat(400)}`,
    '0.0000000001',
  ],
];
const names = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'length',
  'null',
  'undefined',
  'true',
];
const oddTexts = [
  ...[
    '',
    ' ',
    '\t\n',
    '\0',
    'a\0b',
    '\ud800',
    '\udc00\ud800',
    'x\udfff',
    '\u202eabc\u202c',
    '\ufeff',
    '\u2028',
    '\u00a0',
  ],
  ...['é', 'e\u0301', 'ﬃ', 'İ', 'ß', '\u{1F9E8}', '👩‍👩‍👧‍👦', '\u{10FFFF}', '\uffff', 'Z̸̢͗'],
  ...[
    "'; drop table prompts; --",
    '%',
    '_',
    '\\',
    '"',
    '`',
    '$1',
    '{0}',
    '../../etc/passwd',
    '%2e%2e%2f',
    '%00',
    '%ff',
  ],
  ...['{{', '}}', '{{{', '{%', '{% raw %}', '<script>', '\r\nX-Injected: 1', '*', '?', '(', '[', 'a'.repeat(32)],
  ...['0'.repeat(32), 'f'.repeat(32), 'F'.repeat(32), '0'.repeat(16), 'g'.repeat(32)],
];

const shortText = fc.string({ maxLength: 3 });
const yearsNoStoreHas = ['0000-01-01T00:00:00.000Z', '10000-01-01T00:00:00.000Z'];

export const hostileTime: fc.Arbitrary<string> = fc.oneof(
  { arbitrary: fc.constantFrom(...times), weight: 3 },
  { arbitrary: fc.constantFrom(...yearsNoStoreHas), weight: 1 },
);

/** Texts that programs often misread. Some are long. */
export function hostileText({ textCharsMax }: Sizes): fc.Arbitrary<string> {
  const long = fc
    .tuple(
      fc.constantFrom('a', '\0', 'é', '"', '\\', '{', '\ud800', '漢', '1', ' ', '\n'),
      fc.double({ min: 1, max: Math.log10(textCharsMax), noNaN: true }),
    )
    .map(([unit, size]) => unit.repeat(Math.floor(10 ** size)));
  return fc.oneof(
    { arbitrary: fc.constantFrom(...times), weight: 4 },
    { arbitrary: fc.constantFrom(...numerals), weight: 4 },
    { arbitrary: fc.constantFrom(...names), weight: 3 },
    { arbitrary: fc.constantFrom(...oddTexts), weight: 6 },
    {
      arbitrary: fc
        .tuple(shortText, fc.constantFrom('\0', '\ud800', '\udfff'), shortText)
        .map((pieces) => pieces.join('')),
      weight: 4,
    },
    { arbitrary: fc.string({ unit: 'binary', maxLength: 60 }), weight: 3 },
    { arbitrary: long, weight: 1 },
  );
}

const rawNumbers = ['1e400', '-1e400', '-0', '9223372036854775808', '18446744073709551616', '1e-400', '1E+2', '0.1e1'];

/** Numbers at the limits of numeric types. */
export const hostileNumber: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom(
    0,
    -1,
    1.5,
    0.1,
    2 ** 31 - 1,
    2 ** 31,
    2 ** 32,
    2 ** 53 - 1,
    2 ** 53,
    2 ** 63,
    2 ** 64,
    1e21,
    1e308,
    5e-324,
  ),
  fc.constantFrom(8.64e15, 8.64e15 + 1, 253402300800000, 31622400000, 16725225600000, -62167219200000),
  fc.constantFrom(...rawNumbers).map((text) => new RawJson(text)),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.maxSafeInteger(),
);

/** Any JSON values that do not follow a schema. */
export function hostileValue(sizes: Sizes): fc.Arbitrary<unknown> {
  const { elementsMax, levelsMax } = sizes;
  const count = fc.double({ min: 0, max: Math.log10(elementsMax), noNaN: true }).map((size) => Math.floor(10 ** size));
  const levels = fc.double({ min: 0, max: Math.log10(levelsMax), noNaN: true }).map((size) => Math.floor(10 ** size));
  return fc.oneof(
    { arbitrary: hostileText(sizes), weight: 10 },
    { arbitrary: hostileNumber, weight: 8 },
    { arbitrary: fc.constantFrom(null, true, false), weight: 3 },
    { arbitrary: fc.constantFrom([], {}, [[]], [null], { '': '' }), weight: 3 },
    { arbitrary: fc.constantFrom(...names).map((name) => new RawJson(`{"${name}":{"polluted":true}}`)), weight: 2 },
    { arbitrary: fc.constant(new RawJson('{"a":1,"a":[2],"a":"3"}')), weight: 1 },
    { arbitrary: fc.jsonValue({ maxDepth: 4 }), weight: 3 },
    { arbitrary: count.map((length) => Array.from({ length }, (_, index) => index)), weight: 1 },
    { arbitrary: count.map((length) => new RawJson(`[${Array(length).fill('{}').join(',')}]`)), weight: 1 },
    {
      arbitrary: count.map((length) => Object.fromEntries(Array.from({ length }, (_, at) => [`k${at}`, at]))),
      weight: 1,
    },
    { arbitrary: levels.map((depth) => new RawJson('['.repeat(depth) + ']'.repeat(depth))), weight: 1 },
    { arbitrary: levels.map((depth) => new RawJson(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`)), weight: 1 },
  );
}
