import { describe, expect, test } from 'vitest';
import { parseMustache } from '../../src/domains/templates/mustache/parse-mustache.ts';
import { mustacheCases, refusedCases } from '../support/mustache-cases.ts';
import { problemsOf, renderSource } from '../support/templates.ts';

describe.each([...mustacheCases])('Mustache specification, %s', (_group, cases) => {
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
