import fc from 'fast-check';
import { expect, test } from 'vitest';
import { limits } from '../../../src/domains/conventions/limits.ts';
import { normalizeSpan } from '../../../src/domains/conventions/normalize-span.ts';
import type { AnyValue, Attributes } from '../../../src/otlp/span.ts';
import { buildRecord } from '../../support/log-records.ts';
import { said, withReaders } from '../../support/logged-span.ts';
import { buildEvent, buildSpan } from '../../support/span-from-json.ts';

const eventName = fc.constantFrom(
  ...['system', 'user', 'assistant', 'tool', 'developer', '__proto__'].map((role) => `gen_ai.${role}.message`),
  ...[
    'gen_ai.choice',
    'gen_ai.client.inference.operation.details',
    'gen_ai.content.prompt',
    'gen_ai.content.completion',
  ],
  ...['gen_ai.evaluation.result', 'exception', 'gen_ai.client.operation.exception', 'other', ''],
);
const member = fc.constantFrom(
  ...[
    'content',
    'parts',
    'contents',
    'message',
    'role',
    'id',
    'type',
    'text',
    'tool_calls',
    'function',
    'name',
    'index',
  ],
  ...['toolUse', 'toolResult', 'finish_reason', 'gen_ai.event.content', 'event.name', 'gen_ai.prompt', '__proto__'],
  ...['gen_ai.input.messages', 'gen_ai.output.messages', 'gen_ai.system_instructions', 'gen_ai.input.messages_ref'],
  ...['exception.type', 'exception.message', 'error.type', 'gen_ai.evaluation.score.value', 'gen_ai.response.model'],
);
const { value, members } = fc.letrec<{ value: AnyValue; members: Attributes }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom<AnyValue>(
      '',
      'user',
      'system',
      'text',
      '{}',
      '[',
      '"x"',
      '<elided>',
      '[{"role":"user","parts":[{}]}]',
    ),
    fc.string({ unit: 'grapheme' }),
    fc.oneof(fc.double(), fc.boolean(), fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.constant(null)),
    fc.uint8Array({ maxLength: 8 }),
    fc.json(),
    fc.array(tie('value'), { maxLength: 4 }),
    tie('members'),
  ),
  members: fc.array(fc.tuple(member, tie('value')), { maxLength: 6 }).map((entries) => new Map(entries)),
}));
const records = fc.array(
  fc.record({ eventName, body: value, attributes: members }).map((given) => buildRecord(given)),
  { maxLength: 8 },
);
const span = fc
  .record({
    attributes: members,
    events: fc.array(
      fc.tuple(eventName, members).map(([name, attributes]) => ({ ...buildEvent(name), attributes })),
      { maxLength: 3 },
    ),
    statusCode: fc.nat(2),
  })
  .map((given) => buildSpan(given));

/** The only fields that records may change (L30). The details of an error change on failed spans only. */
const changeable = ['input', 'output', 'inputPreview', 'outputPreview', 'evaluations', 'warnings'];
const errorDetails = ['errorType', 'errorMessage', 'errorStack'];

test('L31: any records leave a span that is readable and within its bounds', () => {
  fc.assert(
    fc.property(span, records, (each, logs) => {
      const found = normalizeSpan(each, undefined, withReaders(logs));
      expect(found.warnings.filter((warning) => warning.startsWith('normalizer_error'))).toEqual([]);
      for (const text of [found.input, found.output]) expect(text.length).toBeLessThanOrEqual(limits.textCharsMax);
      expect(normalizeSpan(each, undefined, withReaders(logs))).toEqual(found);
    }),
    { numRuns: 1_000 },
  );
});

test('L30, L32: records fill what is empty and change nothing else', () => {
  fc.assert(
    fc.property(span, records, (each, logs) => {
      const own = normalizeSpan(each);
      const found = normalizeSpan(each, undefined, withReaders(logs));
      for (const [name, kept] of Object.entries(own)) {
        const mayChange = changeable.includes(name) || (own.status === 'error' && errorDetails.includes(name));
        if (!mayChange) expect([name, Reflect.get(found, name)]).toEqual([name, kept]);
      }
      for (const name of ['output', ...errorDetails]) {
        const kept = Reflect.get(own, name);
        if (kept !== '') expect([name, Reflect.get(found, name)]).toEqual([name, kept]);
      }
    }),
    { numRuns: 1_000 },
  );
});

test("L32: any records leave a span's own messages as they are", () => {
  const attributes = new Map<string, AnyValue>([
    ['gen_ai.input.messages', JSON.stringify([said('user', 'own')])],
    ['gen_ai.output.messages', JSON.stringify([said('assistant', 'own')])],
  ]);
  const own = buildSpan({ attributes });
  fc.assert(
    fc.property(records, (logs) => {
      const { input, output, inputPreview, outputPreview } = normalizeSpan(own);
      expect(normalizeSpan(own, undefined, withReaders(logs))).toMatchObject({
        input,
        output,
        inputPreview,
        outputPreview,
      });
    }),
  );
});

test('records that mean nothing change nothing', () => {
  fc.assert(
    fc.property(span, records, (each, logs) => {
      const others = logs.map((record) => ({ ...record, eventName: 'gemini_cli.api_request' }));
      expect(normalizeSpan(each, undefined, withReaders(others))).toEqual(normalizeSpan(each));
    }),
  );
});
