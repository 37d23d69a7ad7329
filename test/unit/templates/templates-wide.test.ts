import { expect, test } from 'vitest';
import { analyzeTemplates, MissingVariablesError } from '../../../src/domains/templates/index.ts';
import { parseMustache } from '../../../src/domains/templates/mustache/parse-mustache.ts';

// The least of three tries: another process of a busy machine may delay one of them.
function leastMs(work: () => unknown): number {
  const tries = Array.from({ length: 3 }, () => {
    const startMs = performance.now();
    work();
    return performance.now() - startMs;
  });
  return Math.min(...tries);
}

const numbered = (prefix: string, count: number, start = 0) =>
  Array.from({ length: count }, (_, index) => `${prefix}${start + index}`);

test('very many different arguments of one part are collected in a short time', () => {
  const tag = (index: number) =>
    `{{>a ${numbered('b', 32, index * 32)
      .map((name) => `${name}=1`)
      .join(' ')}}}`;
  const template = parseMustache(Array.from({ length: 1_300 }, (_, index) => tag(index)).join(''));
  const [part] = analyzeTemplates([template], new Map()).parts;
  expect(part?.arguments).toEqual(numbered('b', 1_300 * 32));
  expect(part?.positions).toHaveLength(1_300);
  expect(leastMs(() => analyzeTemplates([template], new Map()))).toBeLessThan(300);
});

test('very many variables are compared with a schema that requires very many others in a short time', () => {
  const section = (start: number) =>
    parseMustache(
      `{{#s}}${numbered('v', 4_900, start)
        .map((name) => `{{${name}}}`)
        .join('')}{{/s}}`,
    );
  const templates = Array.from({ length: 10 }, (_, index) => section(index * 4_900));
  const schema = { required: [...numbered('r', 9_900), 'v7'] };
  const { variables } = analyzeTemplates(templates, new Map(), schema);
  expect(variables.filter(({ required }) => required).map(({ path }) => path)).toEqual(['v7']);
  expect(leastMs(() => analyzeTemplates(templates, new Map(), schema))).toBeLessThan(300);
});

test('very many missing variables are all named, and the first 100 are described', () => {
  const names = numbered('v', 25_000);
  const { missing, errors, message } = new MissingVariablesError(names, ['history']);
  expect(missing).toEqual([...names, 'placeholders.history']);
  expect(errors?.map(({ path }) => path)).toEqual(numbered('variables.v', 100));
  expect(message).toMatch(/^25001 variables missing: v0, /);
});
