import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fields } from '../../../src/domains/conventions/fields.ts';
import { limits } from '../../../src/domains/conventions/limits.ts';
import { normalizeSpan } from '../../../src/domains/conventions/normalize-span.ts';
import type { NormalizedSpan } from '../../../src/domains/spans/normalized-span.ts';
import { spanKinds } from '../../../src/lib/span-kind.ts';
import type { AnyValue } from '../../../src/otlp/span.ts';
import { buildEvent, buildSpan, scopeOf } from '../../support/span-from-json.ts';

const rows = fields.flatMap(({ rows }) => rows);
const namesFrom = (...sources: string[]) =>
  rows.filter(({ source }) => sources.includes(source)).map(({ name }) => name);
const eventAttributes = [
  'content',
  'message',
  'role',
  'id',
  'gen_ai.event.content',
  'gen_ai.input.messages',
  'gen_ai.output.messages',
];
const leaves = [
  'role',
  'content',
  'message.role',
  'message.content',
  'message.tool_calls.0.tool_call.id',
  'tool_calls.0.name',
  '0.0.0',
];

const key = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...namesFrom('attribute')) },
  fc
    .tuple(fc.constantFrom(...namesFrom('indexed')), fc.nat(1100), fc.constantFrom(...leaves))
    .map(([a, n, b]) => `${a}${n}.${b}`),
  fc.tuple(fc.constantFrom(...namesFrom('family', 'indexed')), fc.string()).map(([prefix, rest]) => prefix + rest),
);

/** JSON that looks like what the readers expect, with the wrong things in the right places. */
const memberName = fc.constantFrom(
  ...[
    'role',
    'content',
    'parts',
    'type',
    'text',
    'tool_calls',
    'function',
    'name',
    'id',
    'messages',
    'message',
    'choices',
    'kwargs',
  ],
  ...[
    'contents',
    'config',
    'input',
    'output',
    'total',
    'version',
    'generations',
    'candidates',
    'usage_metadata',
    'source',
    '__proto__',
  ],
);
const typeName = fc.constantFrom(
  'user',
  'tool',
  'text',
  'tool_use',
  'tool-result',
  'image',
  'reasoning',
  'function_call',
  'human',
  'ai',
);
const { json } = fc.letrec((tie) => ({
  json: fc.oneof({ maxDepth: 6 }, typeName, fc.string(), fc.double(), fc.constant(null), tie('list'), tie('object')),
  list: fc.array(tie('json'), { maxLength: 5 }),
  object: fc.dictionary(memberName, tie('json'), { maxKeys: 6 }),
}));

const scalar = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.double(),
  fc.boolean(),
  fc.constant(null),
  fc.uint8Array({ maxLength: 8 }),
  fc.constantFrom('ERROR', '{}', '[', '{"', '"', '-1', 'NaN', '1e999', '\u0000', '😀'.repeat(600), ','.repeat(3000)),
);
const value: fc.Arbitrary<AnyValue> = fc.oneof(
  scalar,
  json.map((each) => JSON.stringify(each)),
  json.map(asAnyValue),
  fc.array(scalar, { maxLength: 6 }),
  fc.dictionary(memberName, scalar).map((each) => new Map(Object.entries(each))),
);

const span = fc
  .record({
    attributes: fc.array(fc.tuple(key, value), { maxLength: 25 }).map((entries) => new Map(entries)),
    events: fc.array(
      fc
        .tuple(fc.constantFrom(...namesFrom('event')), fc.dictionary(fc.constantFrom(...eventAttributes), value))
        .map(([name, attributes]) => buildEvent(name, attributes)),
      { maxLength: 4 },
    ),
    scope: fc.constantFrom('', 'langsmith').map((name) => scopeOf(name)),
    statusCode: fc.integer({ min: -1, max: 4 }),
    startUnixNano: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    name: fc.string({ unit: 'grapheme' }),
  })
  .map((given) => buildSpan(given));

test('a span with any values under known keys never throws and stays within the bounds', () => {
  fc.assert(
    fc.property(span, (each) => {
      expectBounded(normalizeSpan(each));
    }),
    { numRuns: 1_000 },
  );
});

test('a span normalized twice comes out the same', () => {
  fc.assert(
    fc.property(span, (each) => {
      expect(normalizeSpan(each)).toEqual(normalizeSpan(each));
    }),
  );
});

function expectBounded(found: NormalizedSpan): void {
  expect(spanKinds).toContain(found.kind);
  for (const text of [found.inputPreview, found.outputPreview]) {
    expect(text.length).toBeLessThanOrEqual(limits.previewCharsMax);
  }
  const identifiers = [
    found.name,
    found.model,
    found.provider,
    found.sessionId,
    found.userId,
    found.responseId,
    found.errorType,
  ];
  for (const text of identifiers) expect(text.length).toBeLessThanOrEqual(limits.identifierCharsMax);
  for (const text of [found.input, found.output]) expect(text.length).toBeLessThanOrEqual(limits.textCharsMax);
  expect(found.tags.length).toBeLessThanOrEqual(limits.tagsMax);
  for (const tag of found.tags) expect(tag.length).toBeLessThanOrEqual(limits.tagCharsMax);
  for (const tokens of Object.values(found.usage ?? {})) {
    expect(Number.isSafeInteger(tokens) && tokens >= 0 && tokens <= 2 * limits.tokenCountMax).toBe(true);
  }
  expect(found.reportedCostNanoUsd ?? 0n).toBeGreaterThanOrEqual(0n);
  expect(found.ttftMs === null || (Number.isFinite(found.ttftMs) && found.ttftMs >= 0)).toBe(true);
  if (found.params !== '') expect(JSON.parse(found.params)).toBeTypeOf('object');
  expect(found.warnings.filter((warning) => warning.startsWith('normalizer_error'))).toEqual([]);
}

function asAnyValue(each: unknown): AnyValue {
  if (Array.isArray(each)) return each.map(asAnyValue);
  if (typeof each === 'object' && each !== null) {
    return new Map(Object.entries(each).map(([name, inner]): [string, AnyValue] => [name, asAnyValue(inner)]));
  }
  return typeof each === 'string' || typeof each === 'number' ? each : null;
}
