import { afterAll, describe, expect, test, vi } from 'vitest';
import {
  analyzeTemplates,
  type OnMissing,
  type ParsedTemplate,
  parseTemplate,
  renderTemplate,
  TemplateThreads,
} from '../../../src/domains/templates/index.ts';
import { parseMustache } from '../../../src/domains/templates/mustache/parse-mustache.ts';
import { renderSource } from '../../support/templates.ts';

// A thread takes long to start on a busy machine.
vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000 });
const allThreads = new TemplateThreads();
const threads = allThreads.of('wsp_test');
afterAll(() => allThreads.close());

const parse = (source: string) => parseTemplate(threads, 'liquid', source);

async function partsOf(sources: Readonly<Record<string, string>>): Promise<Map<string, ParsedTemplate>> {
  const parsed = Object.entries(sources).map(async ([ref, source]) => [ref, await parse(source)] as const);
  return new Map(await Promise.all(parsed));
}

async function render(source: string, variables: object, sources = {}, onMissing: OnMissing = 'error') {
  const options = { variables: { ...variables }, parts: await partsOf(sources), onMissing };
  return renderTemplate(threads, await parse(source), options);
}

/** Returns the paths of the variables, required ones with an exclamation mark. */
async function variablesOf(source: string, sources = {}): Promise<string[]> {
  const { variables } = analyzeTemplates([await parse(source)], await partsOf(sources));
  return variables.map(({ path, required }) => (required ? `${path}!` : path));
}

describe('an argument that the template defines itself', () => {
  const part = { p: '{{ x.first }}' };

  test.each([
    ["{% assign t = user.name %}{% render 'p', x: t %}", ['user.name!']],
    ["{% capture t %}{{ user }}{% endcapture %}{% render 'p', x: t %}", ['user!']],
    ["{% for each in users %}{% render 'p', x: each.name %}{% endfor %}", ['users']],
  ])('is no variable: %s', async (source, variables) => {
    expect(await variablesOf(source, part)).toEqual(variables);
  });

  test.each(['{{ x }}', '{% render "inner", y: x %}'])(
    'does not make a render fail when it is absent in the part %s',
    async (source) => {
      const sources = { p: source, inner: '{{ y }}' };
      const conditional = "{% if a %}{% assign t = a %}{% endif %}[{% render 'p', x: t %}]";
      expect((await render(conditional, {}, sources)).text).toBe('[]');
      expect((await render(conditional, { a: 1 }, sources)).text).toBe('[1]');
    },
  );

  test('as a literal null in a Mustache tag does not make a render fail either', () => {
    const rendered = renderSource('{{> p x=null}}', {}, { parts: { p: '[{{x.first}}]' } });
    expect(rendered).toMatchObject({ text: '[]', needed: [], missing: ['x.first'] });
  });
});

describe('an argument that is a variable', () => {
  test.each([
    ['l[0]', ['l.0!', 'l.0.first!']],
    ['user["name"]', ['user.name!', 'user.name.first!']],
    ['texts[language]', ['texts!', 'language!']],
    ['texts["a.b"]', ['texts!']],
  ])('leads a part to the variables of %s', async (argument, variables) => {
    expect(await variablesOf(`{% render 'p', x: ${argument} %}`, { p: '{{ x.first }}' })).toEqual(variables);
  });

  test('is missing by the name that the caller gives it, also in a part within the part', async () => {
    const sources = { outer: "{% render 'inner', y: x %}", inner: '{{ y.name }}' };
    await expect(render("{% render 'outer', x: user %}", { user: {} }, sources)).rejects.toMatchObject({
      ...{ code: 'missing_variables', missing: ['user.name'] },
    });
  });
});

test.each<[string, object, string, string[]]>([
  ['{{ a["b.c"] }}', { a: { 'b.c': 1 } }, '1', ['a!']],
  ['{{ a["b.c"].d }}', { a: { 'b.c': { d: 1 } } }, '1', ['a!']],
  ['{{ a[1.5] }}', { a: { 1.5: 1 } }, '1', ['a!']],
  ['{{ ["a.b"] }}', { 'a.b': 1 }, '1', []],
  ['{{ [a.b].c }}', { a: { b: 'user' }, user: { c: 1 } }, '1', ['a.b!']],
  ['{{ a[b.c] }}', { a: { x: 1 }, b: { c: 'x' } }, '1', ['a!', 'b.c!']],
  ['{{ "abc".size }}', {}, '3', []],
  ['{% assign n = "abc".size %}{{ n }}', {}, '3', []],
  ['{% if "abc".size == n %}yes{% endif %}', { n: 3 }, 'yes', ['n']],
])(
  '%s with everything that it needs is rendered, and its variables have their paths',
  async (source, given, text, variables) => {
    expect(await render(source, given)).toMatchObject({ text, missing: [] });
    expect(await variablesOf(source)).toEqual(variables);
  },
);

test('a property of a literal that does not exist is no missing variable', async () => {
  expect(await render('[{{ "abc".none }}]', {}, {}, 'keep')).toMatchObject({ text: '[]', missing: [] });
});

test('a Mustache part that gets a property of a literal knows no variable for it', async () => {
  const parts = new Map([['p', parseMustache('{{x}}')]]);
  const { variables } = analyzeTemplates([await parse(`{% render 'p', x: "abc".size %}`)], parts);
  expect(variables).toEqual([]);
});
