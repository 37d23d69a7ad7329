import { afterAll, describe, expect, test, vi } from 'vitest';
import {
  analyzeTemplates,
  lintTemplate,
  parseMessages,
  parseTemplate,
  TemplateThreads,
} from '../../../src/domains/templates/index.ts';
import { parseMustache } from '../../../src/domains/templates/mustache/parse-mustache.ts';
import { partsOf } from '../../support/templates.ts';

// A thread takes long to start on a busy machine.
vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000 });
const allThreads = new TemplateThreads();
const threads = allThreads.of('wsp_test');
afterAll(() => allThreads.close());

const parse = (source: string) => parseTemplate(threads, 'liquid', source);
const long = 'A'.repeat(257);
const longest = 'A'.repeat(256);

describe('a Liquid template', () => {
  test.each([
    ['a variable', `{{ ${long} }}`],
    ['a variable of 200,000 characters', `{{ ${'A'.repeat(200_000)} }}`],
    ['a property', `{{ user["${long}"] }}`],
    ['a name within brackets', `{{ texts[${long}] }}`],
    ['many digits within brackets', `{{ list[${'0'.repeat(300)}] }}`],
    ['an argument of a filter', `{{ a | append: ${long} }}`],
    ['a condition', `{% if a %}{% elsif b == ${long} %}{% endif %}`],
    ['the list of a loop', `{% for each in ${long} %}{% endfor %}`],
    ['the end of a range', `{% for each in (1..${long}) %}{% endfor %}`],
    ['a variable that the template defines', `{% assign ${long} = 1 %}{{ ${long} }}`],
    ['the value of an argument', `{% render 'p', x: ${long} %}`],
    ['the name of an argument', `{% render 'p', ${long}: 1 %}`],
    ['17 segments', `{{ ${'a.'.repeat(16)}a }}`],
  ])('with a name that is too long in %s is refused', async (_where, source) => {
    await expect(parse(source)).rejects.toMatchObject({
      code: 'template_limit',
      budget: 'variables',
      message: expect.stringContaining('at most 256 characters and 16 segments'),
    });
    const messages = [{ role: 'user', content: source }];
    await expect(parseMessages(threads, 'liquid', messages)).rejects.toMatchObject({ code: 'template_limit' });
  });

  test('with names of 256 characters and 16 segments, and a longer text, is parsed', async () => {
    const path = `${'a.'.repeat(15)}a`;
    const source = `{{ ${longest} }}{{ ${path} }}{% render 'p', ${longest}: ${longest}, text: "${long}" %}{{ "${long}" }}`;
    const { variables, parts } = await parse(source);
    expect(variables.map((each) => each.path)).toEqual([longest, path, longest]);
    expect(parts[0]?.arguments).toEqual([
      { name: longest, path: longest },
      { name: 'text', value: long },
    ]);
  });

  test('with a loop over a long text keeps the beginning of the text as the name of the loop', async () => {
    const { variables } = await parse(`{% for each in "${'A'.repeat(100_000)}" %}{{ a }}{% endfor %}`);
    expect(variables).toMatchObject([{ path: 'a', within: [`"${'A'.repeat(255)}`] }]);
  });
});

describe('the path that a name stands for', () => {
  /** Parts within parts, each of which adds a path to the name. */
  const nested = (levels: number, added: string) =>
    partsOf(
      Object.fromEntries(
        Array.from({ length: levels }, (_, level) => [
          `p${level}`,
          level === levels - 1 ? '{{x}}' : `{{> p${level + 1} x=x.${added}}}`,
        ]),
      ),
    );
  const pathsOf = (parts: ReturnType<typeof nested>) =>
    analyzeTemplates([parseMustache('{{> p0 x=a}}')], parts).variables.map(({ path }) => path);

  test('has at most 1,024 characters', () => {
    const added = 'b'.repeat(254);
    expect(pathsOf(nested(5, added)).at(-1)).toHaveLength(1 + 4 * 255);
    expect(() => pathsOf(nested(6, added))).toThrow(/at most 1024 characters and 64 segments/);
  });

  test('has at most 64 segments', () => {
    const added = 'b.b.b.b.b.b.b';
    expect(pathsOf(nested(10, added)).at(-1)?.split('.')).toHaveLength(64);
    expect(() => pathsOf(nested(10, `${added}.b`))).toThrow(/at most 1024 characters and 64 segments/);
  });
});

test('a long property of the input schema is not suggested for a variable', async () => {
  const template = parseMustache(`{{${longest}}}`);
  const inputSchema = { properties: { ['A'.repeat(60_000)]: {} } };
  const analysis = analyzeTemplates([template], new Map(), inputSchema);
  const expanded = { parts: new Map(), states: [], problems: [] };
  const [lint] = await lintTemplate({ prompt: { template }, analysis, expanded, knownParts: [], inputSchema });
  expect(lint).toMatchObject({ code: 'undeclared_variable', message: expect.stringContaining(longest) });
  expect(lint).not.toHaveProperty('suggestion');
});
