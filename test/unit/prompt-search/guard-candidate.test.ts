import { describe, expect, test } from 'vitest';
import { guardCandidate, namesOf, sampleOf } from '../../../src/domains/prompt-search/search/guard-candidate.ts';
import type { CandidateContent } from '../../../src/domains/prompt-search/search/ports.ts';
import { InvalidError } from '../../../src/lib/errors.ts';
import { simulatedPorts } from '../../support/simulated-model/simulated-ports.ts';
import { tickets } from '../../support/simulated-model/tickets.ts';

const { ports } = simulatedPorts({ task: tickets });
const text = (template: string): CandidateContent => ({ type: 'text', template });
const base = text('Sort {{ticket}} for {{user.name}}.');
const shown = ['The printer on the third floor is on fire since nine'];

async function guard(
  content: CandidateContent,
  { of = base, index = 0, seen = new Set<string>(), promptTokensMax = 60 } = {},
) {
  const rules = { base: of, names: await namesOf(ports, of), promptTokensMax, sample: undefined };
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

  test('with very many other variables is refused in few words', async () => {
    const namesFrom = (first: number) => Array.from({ length: 2_000 }, (_, index) => `{{v${first + index}}}`).join(' ');
    const reason = await guard(text(namesFrom(8_000)), { of: text(namesFrom(0)), promptTokensMax: 9_000 });
    expect(reason).toMatch(/^The variable "v0" is missing\..* The variable "v19" is missing\. 3980 more differ\.$/);
    const names = Array.from({ length: 20 }, (_, index) => `{{v${index}${'n'.repeat(150)}}}`).join(' ');
    const long = await guard(text('Sort.'), { of: text(names) });
    expect(long).toMatch(/^The variable "v0n+" is missing\. .*…$/);
    expect(long).toHaveLength(2_001);
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
  const rules = {
    base,
    names: await namesOf(ports, base),
    promptTokensMax: 60,
    sample: { inputs: {}, bytes: 0, probes: new Map() },
  };
  const change = { content: text('Now: {{ticket}}, {{user.name}}'), index: 0, shown };
  expect(await guardCandidate({ ports: failing, rules, seen: new Set() }, change)).toMatch(
    /cannot be rendered.*too long/,
  );
});

describe('a candidate is rendered like the base', () => {
  const row = { inputs: { ticket: 'Broken screen', user: { name: 'Ada' } } };
  const guardRendered = async (template: string) => {
    const sample = await sampleOf(ports, base, row);
    const rules = { base, names: await namesOf(ports, base), promptTokensMax: 60, sample };
    return guardCandidate({ ports, rules, seen: new Set() }, { content: text(template), index: 0, shown });
  };

  test('and accepted if it shows the same values', async () => {
    expect(await guardRendered('Look at {{ticket}} first. Then sort it for {{user.name}}.')).toBeUndefined();
  });

  test.each([
    ['that names a variable where its value is never shown', 'Sort {{^ticket}}{{ticket}}{{/ticket}}{{user.name}}.'],
    ['that shows a value only if there is one', '{{#ticket}}Sort {{ticket}}{{/ticket}} for {{user.name}}.'],
  ])('and refused if it is one %s', async (_what, template) => {
    expect(await guardRendered(template)).toBe('The variable "ticket" became optional.');
  });

  test('and refused if it does not show a value, though its names are the same', async () => {
    const optional = text('{{#ticket}}Sort {{ticket}}.{{/ticket}} For {{user.name}}.');
    const sample = await sampleOf(ports, optional, row);
    const rules = { base: optional, names: await namesOf(ports, optional), promptTokensMax: 60, sample };
    const change = { content: text('{{^ticket}}{{ticket}}{{/ticket}} For {{user.name}}.'), index: 0, shown };
    expect(await guardCandidate({ ports, rules, seen: new Set() }, change)).toBe(
      'It does not show the value of "ticket", as the base does.',
    );
  });

  test('and refused if the inputs make it too long', async () => {
    const long = { inputs: { ...row.inputs, ticket: 'x'.repeat(1_000) } };
    const sample = await sampleOf(ports, base, long);
    const rules = { base, names: await namesOf(ports, base), promptTokensMax: 60, sample };
    const change = { content: text(`${'{{ticket}}'.repeat(4)} {{user.name}}`), index: 0, shown };
    expect(await guardCandidate({ ports, rules, seen: new Set() }, change)).toMatch(/bytes; at most/);
  });

  test.each([
    ['NUL', '\0'],
    ['half of a surrogate pair', '\ud800'],
  ])('and refused with %s', async (_what, character) => {
    expect(await guardRendered(`Sort ${character} {{ticket}} for {{user.name}}.`)).toMatch(/NUL character or half/);
  });
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
