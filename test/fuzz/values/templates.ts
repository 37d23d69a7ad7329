import fc from 'fast-check';

const names = [
  'a',
  'b',
  'user.name',
  'a.b.c',
  '__proto__',
  'constructor.name',
  'this',
  '.',
  '',
  ' ',
  'a-b',
  'é',
  '0',
  'a b',
  '@index',
];
const name = fc.constantFrom(...names);
const text = fc.constantFrom(
  '',
  'hello ',
  '\n',
  '{',
  '}',
  '{{',
  '}}',
  '{%',
  '%}',
  '\0',
  '\ud800',
  '漢',
  '\\',
  '{{=<% %>=}}',
  '<%',
  '"',
);
const part = fc.constantFrom(
  'base-part',
  'base-part@1',
  'base-part@01',
  'base-part@latest',
  'base-part@0',
  'none',
  '__proto__',
  'a@b@c',
  '',
);

const mustachePieces = fc.letrec<{ piece: string }>((tie) => ({
  piece: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    text,
    name.map((each) => `{{${each}}}`),
    name.map((each) => `{{{${each}}}}`),
    part.map((each) => `{{> ${each}}}`),
    fc.tuple(part, name).map(([slug, value]) => `{{> ${slug} tone="x" who=${value}}}`),
    fc
      .tuple(fc.constantFrom('#', '^'), name, tie('piece'), name)
      .map(([sign, open, inner, shut]) => `{{${sign}${open}}}${inner}{{/${shut}}}`),
    fc
      .tuple(fc.constantFrom('#', '^'), name, tie('piece'))
      .map(([sign, each, inner]) => `{{${sign}${each}}}${inner}{{/${each}}}`),
    fc.array(tie('piece'), { maxLength: 4 }).map((pieces) => pieces.join('')),
    name.map((each) => `{{! ${each} `),
  ),
})).piece;

const filters = [
  ...[
    'upcase',
    'append: "x"',
    'times: 1e308',
    'divided_by: 0',
    'modulo: 0',
    'date: "%Y"',
    'date: "%99999999Y"',
    'slice: -1, 2',
  ],
  ...[
    'truncate: 9007199254740993',
    'split: ""',
    'join: a',
    'map: "__proto__"',
    'where: "constructor"',
    'sort',
    'uniq',
    'json',
  ],
  ...[
    'round: 400',
    'nosuch',
    'replace: "", "xx"',
    'first',
    'last',
    'size',
    'at_least: "NaN"',
    'escape',
    'strip_html',
    'concat: a',
  ],
];
const expression = fc.oneof(
  name,
  fc
    .tuple(
      fc.constantFrom('a', '"text"', '1', '1e400', '(1..5)', 'nil', 'a[0]', "a['__proto__']"),
      fc.array(fc.constantFrom(...filters), { maxLength: 3 }),
    )
    .map(([value, each]) => [value, ...each].join(' | ')),
);
const liquidPieces = fc.letrec<{ piece: string }>((tie) => ({
  piece: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    text,
    expression.map((each) => `{{ ${each} }}`),
    fc.tuple(expression, tie('piece')).map(([each, inner]) => `{% if ${each} %}${inner}{% endif %}`),
    fc
      .tuple(fc.constantFrom('a', '(1..9)', '(1..999999999)', '(a..b)', '(1..-1)', 'a.b'), tie('piece'))
      .map(([each, inner]) => `{% for i in ${each} %}${inner}{% endfor %}`),
    fc.tuple(expression, tie('piece')).map(([each, inner]) => `{% case ${each} %}{% when 1 %}${inner}{% endcase %}`),
    fc.tuple(name, expression).map(([each, value]) => `{% assign ${each} = ${value} %}`),
    fc.tuple(name, tie('piece')).map(([each, inner]) => `{% capture ${each} %}${inner}{% endcapture %}`),
    part.map((each) => `{% render '${each}' %}`),
    part.map((each) => `{% include '${each}' %}`),
    fc.constantFrom(
      '{% raw %}',
      '{% endraw %}',
      '{% endif %}',
      '{% nosuch %}',
      '{% cycle a, b %}',
      '{% increment a %}',
      '{%- comment -%}',
      '{% tablerow i in a %}x{% endtablerow %}',
    ),
    fc.array(tie('piece'), { maxLength: 4 }).map((pieces) => pieces.join('')),
  ),
})).piece;

/** Templates in any of the formats. Most parse, some do not, and a few exceed a limit. */
export const template: fc.Arbitrary<string> = fc.oneof(
  { arbitrary: mustachePieces, weight: 6 },
  { arbitrary: liquidPieces, weight: 6 },
  {
    arbitrary: fc
      .tuple(mustachePieces, fc.integer({ min: 2, max: 400 }))
      .map(([piece, times]) => piece.repeat(times).slice(0, 300_000)),
    weight: 1,
  },
  {
    arbitrary: fc
      .tuple(liquidPieces, fc.integer({ min: 2, max: 400 }))
      .map(([piece, times]) => piece.repeat(times).slice(0, 300_000)),
    weight: 1,
  },
  {
    arbitrary: fc.integer({ min: 1, max: 5_000 }).map((depth) => '{{#a}}'.repeat(depth) + '{{/a}}'.repeat(depth)),
    weight: 1,
  },
);

const list = (length: number) => Array.from({ length }, (_, index) => ({ a: index, b: 'x' }));

/** Variables for these templates. */
export const variables: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom(
    {},
    { a: 'x' },
    { a: { b: { c: 1 } }, user: { name: 'n' }, b: true },
    { a: list(5) },
    { a: list(1_000), b: list(50) },
    { a: 'a'.repeat(60).concat('!') },
  ),
  fc.dictionary(fc.constantFrom('a', 'b', 'user', 'é', 'constructor'), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 4 }),
);

const patterns = ['^a+$', '^(a+)+$', '(', '\\p{L}+', '^(?:a|a)*b$', '(?<=a)b', '[', '\\1', '^.{1,100000}$', '(?i)x'];

/** JSON Schemas of variables: usable, faulty and slow ones. */
export const inputSchema: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom(
    {},
    { required: ['a'] },
    { properties: { a: { type: 'string', default: 'x' } } },
    { type: 'objekt' },
    { $ref: '#' },
  ),
  fc.constantFrom(...patterns).map((pattern) => ({ properties: { a: { type: 'string', pattern } } })),
  fc.constantFrom(
    { $ref: 'https://example.com/s' },
    { $defs: { x: { $ref: '#/$defs/x' } }, $ref: '#/$defs/x' },
    { $id: 'urn:x', $schema: 'urn:none' },
  ),
  fc.constantFrom(
    { allOf: [{ $ref: '#' }] },
    { properties: { __proto__: {} } },
    { additionalProperties: false },
    { $dynamicRef: '#a' },
    { format: 'nosuch' },
  ),
  fc
    .integer({ min: 1, max: 300 })
    .map((depth) => Array.from({ length: depth }).reduce<object>((inner) => ({ properties: { a: inner } }), {})),
  fc
    .constantFrom(100, 2_000)
    .map((size) => ({ properties: { a: { enum: Array.from({ length: size }, (_, at) => at) } } })),
  fc.constantFrom(
    { uniqueItems: true, properties: { a: { uniqueItems: true } } },
    { properties: { a: { multipleOf: 1e-300 } } },
    { minProperties: -1 },
  ),
);
