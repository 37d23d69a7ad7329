import { describe, expect, test } from 'vitest';
import { compileIndex, startReading } from '../../../src/domains/conventions/candidates.ts';
import { limits } from '../../../src/domains/conventions/limits.ts';
import { pickMembers } from '../../../src/domains/conventions/messages/message-members.ts';
import { shapeMessage } from '../../../src/domains/conventions/messages/shape-messages.ts';
import { bodyBudget, normalizeSpan } from '../../../src/domains/conventions/normalize-span.ts';
import type { AnyValue } from '../../../src/otlp/span.ts';
import { buildRecord } from '../../support/log-records.ts';
import { withReaders } from '../../support/logged-span.ts';
import { buildEvent, buildSpan } from '../../support/span-from-json.ts';

const detailsEvent = 'gen_ai.client.inference.operation.details';
const large = { role: 'user', content: 'said', other: Array(99_000).fill(0) };

describe('events of a span', () => {
  test.each([
    ['message', 'gen_ai.user.message', 'gen_ai.event.content', JSON.stringify(large)],
    ['list of messages', detailsEvent, 'gen_ai.input.messages', JSON.stringify([large])],
  ])('that send the same large %s are read while the budget lasts, and then stay as sent', (_what, name, key, sent) => {
    const budget = bodyBudget();
    const events = Array.from({ length: 4 }, () => buildEvent(name, { [key]: sent }));
    const { input, warnings } = normalizeSpan(buildSpan({ events }), budget);
    const text = (content: string) => ({ role: 'user', parts: [{ type: 'text', content }] });
    expect(JSON.parse(input)).toEqual([text('said'), text('said'), text(sent), text(sent)]);
    expect(warnings).toEqual(['json_unparsed']);
    expect(limits.bodyValuesMax - budget.values).toBeGreaterThan(2 * 99_000);
  });

  test('with very many members that are not read cost nothing of the budget', () => {
    const others = new Map<string, AnyValue>(Array.from({ length: 25_000 }, (_, index) => [`member${index}`, 0]));
    const budget = bodyBudget();
    const events = [buildEvent('gen_ai.user.message', { 'gen_ai.event.content': others.set('content', 'said') })];
    expect(normalizeSpan(buildSpan({ events }), budget)).toMatchObject({ warnings: [] });
    expect(budget.values).toBe(limits.bodyValuesMax);
  });

  test('that are log records with JSON text count once', () => {
    const budget = bodyBudget();
    const body = JSON.stringify({ content: 'said', other: Array(200_000).fill(0) });
    const records = [buildRecord({ eventName: 'gen_ai.user.message', body })];
    const found = normalizeSpan(buildSpan(), budget, withReaders(records));
    expect(found).toMatchObject({ input: expect.stringContaining('said'), warnings: [] });
    expect(limits.bodyValuesMax - budget.values).toBeLessThan(201_000);
  });
});

test.each(['message', 'function_call', 'function_call_output', 'reasoning'])(
  'all members that are read of a message of type %s are picked',
  (type) => {
    const asked = new Set<string>();
    // It has no other member, so all names of each are asked for.
    const noted = new Proxy<Record<string, unknown>>(
      { type },
      { get: (target, name) => asked.add(String(name)) && Reflect.get(target, name) },
    );
    shapeMessage(noted, 'user', startReading(compileIndex([]), buildSpan(), bodyBudget()));
    expect(asked.size).toBeGreaterThan(4);
    const given = Object.fromEntries([...asked].map((name) => [name, name === 'type' ? type : 1]));
    expect(pickMembers({ ...given, unread: 1 })).toEqual(given);
  },
);
