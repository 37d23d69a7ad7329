import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import {
  analyzeInSlices,
  analyzeTemplates,
  lintTemplate,
  MissingVariablesError,
} from '../../../src/domains/templates/index.ts';
import { parseMustache } from '../../../src/domains/templates/mustache/parse-mustache.ts';
import { partsOf } from '../../support/templates.ts';

// The least of three tries: another process of a busy machine may delay one of them.
async function leastMs(work: () => unknown): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < 3; tries++) {
    const startMs = performance.now();
    await work();
    least = Math.min(least, performance.now() - startMs);
  }
  return least;
}

const numbered = (prefix: string, count: number, start = 0) =>
  Array.from({ length: count }, (_, index) => `${prefix}${start + index}`);

test('very many different arguments of one part are collected in a short time', async () => {
  const tag = (index: number) =>
    `{{>a ${numbered('b', 32, index * 32)
      .map((name) => `${name}=1`)
      .join(' ')}}}`;
  const template = parseMustache(Array.from({ length: 1_300 }, (_, index) => tag(index)).join(''));
  const [part] = analyzeTemplates([template], new Map()).parts;
  expect(part?.arguments).toEqual(numbered('b', 1_300 * 32));
  expect(part?.positions).toHaveLength(1_300);
  expect(await leastMs(() => analyzeTemplates([template], new Map()))).toBeLessThan(300);
});

const templateOf = (names: readonly string[]) =>
  parseMustache(`{{#s}}${names.map((name) => `{{${name}}}`).join('')}{{/s}}`);

test('more than 2,000 different variables are refused', () => {
  const fits = templateOf(numbered('v', 1_999));
  expect(analyzeTemplates([fits], new Map()).variables).toHaveLength(2_000);
  const more = [fits, templateOf(['one.more'])];
  expect(() => analyzeTemplates(more, new Map())).toThrow(/at most 2000 different variables/);
});

test('variables are compared with a schema that combines many others, with many names, in a short time', async () => {
  const below = { $ref: '#/$defs/l' };
  const combined = Array.from({ length: 6 }, () => ({
    properties: { a: below, b: below },
    required: numbered('r', 1_000),
  }));
  const schema = { ...below, $defs: { l: { allOf: combined } } };
  const names = Array.from({ length: 1_990 }, (_, index) => {
    const bits = index.toString(2).padStart(14, '0');
    return [...bits].map((bit) => (bit === '0' ? 'a' : 'b')).join('.');
  });
  const template = templateOf(names);
  expect(analyzeTemplates([template], new Map(), schema).variables).toHaveLength(1_991);
  expect(await leastMs(() => analyzeTemplates([template], new Map(), schema))).toBeLessThan(150);
});

test('variables with many segments and a schema that combines others are analyzed and linted in slices', async () => {
  const segments = [...'abcdefghijklmnop'];
  const names = Array.from({ length: 1_990 }, (_, index) => {
    return segments.map((segment, place) => ((index >> (place % 11)) & 1 ? segment : 'q')).join('.');
  });
  const properties = Object.fromEntries([...segments, 'q'].map((segment) => [segment, { $ref: '#' }]));
  const $defs = Object.fromEntries(numbered('d', 7).map((name) => [name, { properties }]));
  const schema = { $defs, allOf: numbered('d', 7).map((name) => ({ $ref: `#/$defs/${name}` })), properties };
  let slices = 0;
  const rest = async () => void slices++;
  const template = parseMustache(names.map((name) => `{{${name}}}`).join(''));
  const analysis = await analyzeInSlices([template], new Map(), schema, rest);
  expect(slices).toBeGreaterThan(5);
  slices = 0;
  const expanded = { parts: new Map(), states: [], problems: [] };
  await lintTemplate({ prompt: { template }, analysis, expanded, knownParts: [], inputSchema: schema }, rest);
  expect(slices).toBeGreaterThan(0);
});

describe('parts within parts that use variables 49,000 times', () => {
  const segments = numbered('of-a-path-', 15).join('.');
  const parts = partsOf({
    p1: `{{> p2 x=x.${segments}}}`,
    p2: `{{> p3 x=x.${segments}}}`,
    p3: numbered('x.v', 490)
      .map((name) => `{{${name}}}`)
      .join(''),
  });
  const template = parseMustache('{{> p1 x=a}}'.repeat(100));

  test('are analyzed in short slices', async () => {
    const longestMs = async () => {
      let longest = 0;
      let endedAtMs = performance.now();
      const rest = async () => {
        longest = Math.max(longest, performance.now() - endedAtMs);
        await nextTurn();
        endedAtMs = performance.now();
      };
      const { variables } = await analyzeInSlices([template], parts, undefined, rest);
      expect(variables).toHaveLength(493);
      return longest;
    };
    const tries = [await longestMs(), await longestMs(), await longestMs()];
    expect(Math.min(...tries)).toBeLessThan(100);
  });

  test('wait for their turn after about a millisecond, so a dozen of them begin in a short time', async () => {
    let waiting = 0;
    const rest = () => new Promise<void>(() => waiting++);
    const begin = () => {
      for (let count = 0; count < 12; count++) void analyzeInSlices([template], parts, undefined, rest);
    };
    expect(await leastMs(begin)).toBeLessThan(200);
    expect(waiting).toBe(3 * 12);
  });
});

test('variables with a default are refused if the objects around them make more than 2,000', () => {
  const schema = { properties: { a: { $ref: '#' }, b: { $ref: '#' }, v: { default: 0 } } };
  const names = (count: number) =>
    Array.from({ length: count }, (_, index) => {
      const bits = index.toString(2).padStart(10, '0');
      return [...bits].map((bit) => (bit === '0' ? 'a' : 'b')).join('.');
    });
  const template = (count: number) =>
    parseMustache(
      names(count)
        .map((name) => `{{${name}.v}}`)
        .join(''),
    );
  expect(analyzeTemplates([template(512)], new Map(), schema).variables).toHaveLength(512 + 1_023);
  expect(() => analyzeTemplates([template(1_024)], new Map(), schema)).toThrow(/at most 2000 different variables/);
});

test('a small prompt is analyzed without a pause', async () => {
  const rest = () => Promise.reject(new Error('It paused'));
  const template = parseMustache(
    numbered('v', 40)
      .map((name) => `{{${name}}}`)
      .join(''),
  );
  const { variables } = await analyzeInSlices([template], new Map(), { properties: { v1: {} } }, rest);
  expect(variables).toHaveLength(40);
});

test('variables in very many sections with long names, around which are parts within parts, are linted in a short time', async () => {
  const within = (names: readonly string[], inner: string) =>
    [...names.map((name) => `{{#${name}}}`), inner, ...names.toReversed().map((name) => `{{/${name}}}`)].join('');
  const long = (prefix: string, count: number) => numbered(prefix, count).map((name) => name.padEnd(256, '_'));
  const nested = (prefix: string, inner: string) => within(long(prefix, 32), inner);
  const last = long('s', 400).map((name, index) => within([name], `{{v${index}}}{{w${index}}}`));
  const levels = numbered('p', 9).map((name, level) => [name, nested(name, `{{> p${level + 1}}}`)] as const);
  const parts = partsOf({ ...Object.fromEntries(levels), p9: last.join('') });
  const template = parseMustache(nested('draft', '{{> p0}}'));
  const inputSchema = { properties: { a: {} }, additionalProperties: false };
  const lint = () => {
    const analysis = analyzeTemplates([template], parts, inputSchema);
    const expanded = { parts, states: [], problems: [] };
    return lintTemplate({ prompt: { template }, analysis, expanded, knownParts: [], inputSchema });
  };
  expect((await lint()).map(({ code }) => code)).toEqual(['undeclared_variable', 'unused_variable']);
  expect(await leastMs(lint)).toBeLessThan(300);
});

test('very many missing variables are all named, and the first 100 are described', () => {
  const names = numbered('v', 25_000);
  const { missing, errors, message } = new MissingVariablesError(names, ['history']);
  expect(missing).toEqual([...names, 'placeholders.history']);
  expect(errors?.map(({ path }) => path)).toEqual(numbered('variables.v', 100));
  expect(message).toMatch(/^25001 variables missing: v0, /);
});
