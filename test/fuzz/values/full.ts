import fc from 'fast-check';
import type { Sizes } from './hostile.ts';

/**
 * Values that use several limits at once: many elements, each of them costly. A value that uses one
 * limit is in `hostile.ts`. What one limit does not bound is the product of two.
 */

type Make = (at: number) => string;

/** Makes `count` pieces, but no more than `charsMax` characters. */
function repeated(make: Make, count: number, charsMax: number): string {
  const pieces: string[] = [];
  for (let at = 0, chars = 0; at < count; at++) {
    const piece = make(at);
    chars += piece.length;
    if (chars > charsMax) break;
    pieces.push(piece);
  }
  return pieces.join('');
}

/** Draws from 1 to `max`. Small and large numbers are equally likely. */
export const magnitude = (max: number): fc.Arbitrary<number> =>
  fc.double({ min: 0, max: Math.log10(max), noNaN: true }).map((size) => Math.floor(10 ** size));

const deep = Array.from({ length: 15 }, (_, at) => `p${at}`).join('.');

const templatePieces: readonly Make[] = [
  (at) => `{{v${at}}}`,
  (at) => `{{v${at % 1_999}.${deep}}}`,
  (at) => `{{#v${at % 1_999}}}{{v${at % 1_999}}}{{/v${at % 1_999}}}`,
  (at) => `{{#a}}{{#b}}{{v${at % 9}}}{{/b}}{{/a}}`,
  (at) => `{{> base-part a=v${at} b="${at}"}}`,
  (at) => `{{{a}}} {{ b }} ${'\t'.repeat(at % 50)}\n`,
  (at) => `{{v${at}`,
  (at) => `line ${at}\n`,
  (at) => `${at % 2 === 0 ? 'same' : at}\n`,
  () => 'sk-abcdefghijklmnopqrstuvwxyz0123456789 ',
  () => 'password: ',
  (at) => `{{ v${at} | upcase | append: v${at} | split: "" | join: "-" }}`,
  (at) => `{% assign v${at} = a | replace: "x", "xx" %}`,
  (at) => `{% if v${at} and a or b %}{{ v${at} }}{% elsif a %}1{% endif %}`,
  () => '{% for i in a %}{% for j in a %}{{ i }}{{ j }}{% endfor %}{% endfor %}',
  (at) => `{% render 'base-part', a: v${at} %}`,
  (at) => `{% capture v${at} %}{{ a }}{{ v${at - 1} }}{% endcapture %}`,
  (at) => `{% case a %}${`{% when ${at} %}x`.repeat(20)}{% endcase %}`,
];

const templateCharsMax = 262_144;

export function fullTemplate({ textCharsMax }: Sizes): fc.Arbitrary<string> {
  const charsMax = Math.min(textCharsMax, templateCharsMax);
  return fc
    .tuple(fc.constantFrom(...templatePieces), fc.constantFrom(...templatePieces), magnitude(200_000), fc.boolean())
    .map(([one, other, count, isMixed]) =>
      repeated((at) => (isMixed && at % 2 === 1 ? other(at) : one(at)), count, charsMax),
    );
}

type Entry = (at: number) => unknown;

const entries: readonly Entry[] = [
  (at) => ({ [`${'k'.repeat(2_000)}${at}`]: at }),
  (at) => at,
  (at) => `text ${at}`,
  () => null,
  (at) => ({ a: at, b: [at] }),
  () => '<b>&"\'</b>'.repeat(8),
  (at) => Array.from({ length: at % 12 }, () => ({})),
  () => [[[[[['x']]]]]],
];

const nameOf = (at: number) => `v${at}`;
const longNameOf = (at: number) => (at === 0 ? 'K/'.repeat(25_000) : nameOf(at));

const objectOf = (count: number, entry: Entry, name: (at: number) => string = nameOf) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [name(at), entry(at)]));

export function fullVariables({ elementsMax, textCharsMax }: Sizes): fc.Arbitrary<unknown> {
  return fc
    .record({
      entry: fc.constantFrom(...entries),
      count: magnitude(Math.min(elementsMax, 20_000)),
      listed: magnitude(Math.min(elementsMax, 20_000)),
      chars: magnitude(Math.min(textCharsMax, 500_000)),
      name: fc.constantFrom(nameOf, longNameOf),
    })
    .map(({ entry, count, listed, chars, name }) => ({
      ...objectOf(Math.ceil(count / 2), () => objectOf(2, entry), name),
      a: Array.from({ length: listed }, (_, at) => entry(at)),
      b: 'x'.repeat(chars),
    }));
}

const schemaBytesMax = 65_536;

const names = (count: number) => Array.from({ length: count }, (_, at) => `v${at}`);
const schemas: readonly ((count: number) => object)[] = [
  (count) => ({ properties: objectOf(count, () => ({ type: 'string' })), required: names(count) }),
  (count) => ({ properties: objectOf(count, () => ({ $ref: '#/$defs/x' })), $defs: { x: { maxLength: 1 } } }),
  (count) => ({ allOf: Array.from({ length: count }, (_, at) => ({ required: [`v${at}`] })) }),
  (count) => ({ anyOf: names(count).map((each) => ({ properties: { [each]: false } })) }),
  (count) => ({ oneOf: names(count).map((each) => ({ required: [each, 'a'] })) }),
  (count) => ({
    patternProperties: objectOf(
      count,
      () => ({ type: 'null' }),
      (at) => `^v[0-9]*${at}$`,
    ),
  }),
  (count) => ({ additionalProperties: { enum: names(count) } }),
  (count) => ({ properties: { a: { items: { anyOf: names(count).map((each) => ({ const: each })) } } } }),
  (count) => ({ properties: { a: { uniqueItems: true, items: { required: names(count) } } } }),
  (count) => ({ additionalProperties: { additionalProperties: { enum: names(count) } } }),
  (count) => ({ properties: { ['K'.repeat(200)]: { properties: objectOf(count, () => ({ default: 0 })) } } }),
  (count) => ({ dependentRequired: objectOf(count, () => ['a', 'b', 'none']) }),
  (count) => ({
    $defs: objectOf(count, (at) => ({ allOf: [{ $ref: `#/$defs/v${at + 1}` }, { $ref: `#/$defs/v${at + 1}` }] })),
    $ref: '#/$defs/v0',
  }),
  (count) => ({
    unevaluatedProperties: false,
    allOf: names(count).map((each) => ({ properties: { [each]: { type: ['string', 'array'] } } })),
  }),
  (count) => ({ properties: objectOf(count, (at) => ({ type: 'object', default: { a: at }, title: 'x'.repeat(9) })) }),
];

export const fullSchema: fc.Arbitrary<unknown> = fc
  .tuple(fc.constantFrom(...schemas), magnitude(4_000))
  .map(([make, count]) => {
    let size = count;
    while (JSON.stringify(make(size)).length > schemaBytesMax) size = Math.floor(size * 0.8);
    return make(size);
  });

/** Any JSON with many values, for members without a schema such as `config` and `metadata`. */
export function fullObject({ elementsMax }: Sizes): fc.Arbitrary<unknown> {
  return fc
    .tuple(fc.constantFrom(...entries), magnitude(Math.min(elementsMax, 9_000)), fc.constantFrom(nameOf, longNameOf))
    .map(([entry, count, name]) => ({ a: objectOf(count, entry), [name(0)]: objectOf(count, entry, name) }));
}
