import { describe, expect, test } from 'vitest';
import { guardCandidate, namesOf } from '../../../src/domains/prompt-search/search/guard-candidate.ts';
import type { CandidateContent } from '../../../src/domains/prompt-search/search/ports.ts';
import { InvalidError } from '../../../src/lib/errors.ts';
import { simulatedPorts } from '../../support/simulated-model/simulated-ports.ts';
import { tickets } from '../../support/simulated-model/tickets.ts';

const { ports } = simulatedPorts({ task: tickets });
const text = (template: string): CandidateContent => ({ type: 'text', template });
const base = text('Sort {{ticket}} for {{user.name}}.');
const shown = ['The printer on the third floor is on fire since nine'];

async function guard(content: CandidateContent, { of = base, index = 0, seen = new Set<string>() } = {}) {
  const rules = { base: of, names: await namesOf(ports, of), promptTokensMax: 60, sample: undefined };
  return guardCandidate({ ports, rules, seen }, { content, index, shown });
}

describe('a candidate', () => {
  test('with the variables of the base is accepted', async () => {
    expect(await guard(text('Sort well: {{ticket}} for {{user.name}}. {{! a comment }}'))).toBeUndefined();
  });

  test.each([
    ['without a variable', 'Sort the input above for {{user.name}}.', /variable "ticket" is missing/],
    ['with a new variable', 'Sort {{ticket}} for {{user.name}} in {{context}}.', /variable "context" is new/],
    ['with a variable that hides one', 'Sort {{ticket}} for {{user}}.', /"user.name" is missing.*"user" is new/],
    ['with a new part', '{{> tone}} Sort {{ticket}} for {{user.name}}.', /part "tone" is new/],
    ['that does not parse', 'Sort {{ticket}} for {{user.name}} {{#open}}.', /not a valid template/],
    ['that is too long', `Sort {{ticket}} for {{user.name}}. ${'Take care. '.repeat(40)}`, /at most 60 are allowed/],
    [
      'that copies a row',
      'Sort {{ticket}} for {{user.name}}. If the PRINTER on the third floor is on fire, call.',
      /copies a row verbatim: "the printer on the third floor is on/,
    ],
  ])('%s is refused', async (_, template, reason) => {
    expect(await guard(text(template))).toMatch(reason);
  });

  test('may say what the base says, even if a row has it as well', async () => {
    const of = text('The printer on the third floor is on fire since nine: {{ticket}}');
    expect(
      await guard(text('The printer on the third floor is on fire since nine. {{ticket}}'), { of }),
    ).toBeUndefined();
  });
});

test('a candidate that parses and cannot be rendered with a row is refused', async () => {
  const failing = {
    ...ports,
    render: () => Promise.reject(new InvalidError('template_limit', 'The text is too long')),
  };
  const rules = { base, names: await namesOf(ports, base), promptTokensMax: 60, sample: { inputs: {} } };
  const change = { content: text('Now: {{ticket}}, {{user.name}}'), index: 0, shown };
  expect(await guardCandidate({ ports: failing, rules, seen: new Set() }, change)).toMatch(
    /cannot be rendered.*too long/,
  );
});

describe('a candidate of a chat', () => {
  const chat = (system: string, user: string): CandidateContent => ({
    type: 'chat',
    messages: [{ role: 'system', content: system }, { placeholder: 'history' }, { role: 'user', content: user }],
  });
  const of = chat('Sort tickets.', '{{ticket}}');

  test('is refused if a message gets a variable of another one', async () => {
    expect(await guard(chat('Sort {{ticket}}.', '{{ticket}}'), { of })).toMatch(/"ticket" is new/);
  });

  test('is accepted if the message keeps its own', async () => {
    expect(await guard(chat('Sort tickets by their topic.', '{{ticket}}'), { of })).toBeUndefined();
    expect(await guard(chat('Sort tickets.', 'Sort: {{ticket}}'), { of, index: 2 })).toBeUndefined();
  });
});
