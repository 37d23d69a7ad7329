import { describe, expect, test } from 'vitest';
import { limits } from '../../../src/domains/conventions/limits.ts';
import { bodyBudget, normalizeSpan } from '../../../src/domains/conventions/normalize-span.ts';
import type { AnyValue } from '../../../src/otlp/span.ts';
import { buildEvent, buildSpan } from '../../support/span-from-json.ts';

const mebibyte = 1024 * 1024;
/** As long as an attribute may be, but for some room around it. */
const manyObjects = `[${'{},'.repeat(mebibyte / 3 - 1_000)}{}]`;
const spanWith = (given: Record<string, AnyValue>) => buildSpan({ attributes: new Map(Object.entries(given)) });
const messages = (values: number, role = 'user') =>
  JSON.stringify([{ role, content: 'hi', extra: Array(values).fill(0) }]);

describe('JSON within a span that holds more values than the span may read', () => {
  test.each<[string, Record<string, AnyValue>, 'input' | 'output']>([
    ['messages', { 'gen_ai.input.messages': manyObjects }, 'input'],
    ['an answer', { 'gen_ai.output.messages': manyObjects }, 'output'],
    [
      'the content of a numbered message',
      { 'gen_ai.prompt.0.role': 'user', 'gen_ai.prompt.0.content': manyObjects },
      'input',
    ],
    [
      'the arguments of a tool call within messages',
      {
        'gen_ai.input.messages': JSON.stringify([
          { role: 'assistant', tool_calls: [{ id: 'c', name: 't', arguments: manyObjects }] },
        ]),
      },
      'input',
    ],
  ])('%s: stays as it was sent, with a warning', (_what, given, side) => {
    const found = normalizeSpan(spanWith(given));
    expect(found.warnings).toEqual(['json_unparsed']);
    expect(found[side]).toContain('{},{},{}');
  });

  test('messages with a name of 16,000 characters: stay as they were sent, with a warning', () => {
    const sent = JSON.stringify([{ role: 'user', content: 'hi', ['n'.repeat(16_000)]: 1 }]);
    const found = normalizeSpan(spanWith({ 'gen_ai.input.messages': sent }));
    expect(found).toMatchObject({ input: sent, warnings: ['json_unparsed'] });
  });

  test('in an event: stays as it was sent, with a warning', () => {
    const event = buildEvent('gen_ai.user.message', { content: manyObjects });
    const found = normalizeSpan(buildSpan({ events: [event] }));
    expect(found.warnings).toEqual(['json_unparsed']);
    expect(found.input).toContain('{},{},{}');
  });

  test('as a structure rather than text: is kept among the attributes only, with a warning', () => {
    const structure = Array.from({ length: limits.spanValuesMax + 1 }, () => null);
    const found = normalizeSpan(spanWith({ 'gen_ai.prompt': structure, 'gen_ai.request.model': 'm' }));
    expect(found).toMatchObject({ input: '', model: 'm', warnings: ['json_unparsed'] });
  });

  test('spread over many attributes: what comes first is read, and one span reads no more than its share', () => {
    const each = Math.floor(limits.spanValuesMax * 0.6);
    const budget = bodyBudget();
    const found = normalizeSpan(
      spanWith({ 'gen_ai.input.messages': messages(each), 'gen_ai.output.messages': messages(each, 'assistant') }),
      budget,
    );
    expect(found.warnings).toEqual(['json_unparsed']);
    expect(limits.bodyValuesMax - budget.values).toBeLessThanOrEqual(limits.spanValuesMax);
  });
});

test('once the spans of a body have read all that it may read, the rest stays as sent, with a warning', () => {
  const budget = bodyBudget();
  const text = messages(limits.spanValuesMax - 100);
  const sent = Array.from({ length: 10 }, () => normalizeSpan(spanWith({ 'gen_ai.input.messages': text }), budget));
  const unparsed = sent.map(({ warnings }) => warnings.includes('json_unparsed'));
  expect(unparsed).toEqual([...Array(8).fill(false), true, true]);
  expect(sent.at(-1)?.input).toBe(text);
  expect(budget.values).toBeGreaterThanOrEqual(0);
});

test('a conversation of a mebibyte with long texts is read whole', () => {
  const text = JSON.stringify(
    Array.from({ length: 900 }, (_, index) => ({ role: 'user', content: `${index} ${'a, b; {c} '.repeat(110)}` })),
  );
  const found = normalizeSpan(spanWith({ 'gen_ai.input.messages': text }));
  expect(found.warnings).toEqual([]);
  expect(JSON.parse(found.input)).toHaveLength(900);
});
