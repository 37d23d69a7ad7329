import fc from 'fast-check';
import { afterAll, describe, expect, test, vi } from 'vitest';
import {
  analyzeTemplates,
  type ParsedTemplate,
  parseTemplate,
  renderTemplate,
  TemplateThreads,
} from '../../../src/domains/templates/index.ts';
import { parseMustache } from '../../../src/domains/templates/mustache/parse-mustache.ts';
import { partsOf } from '../../support/templates.ts';

const noParts = new Map<string, ParsedTemplate>();
// A thread takes long to start on a busy machine.
vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000 });
const allThreads = new TemplateThreads();
const threads = allThreads.of('wsp_test');
afterAll(() => allThreads.close());

const requiredOf = (template: ParsedTemplate, parts = noParts, schema?: unknown) =>
  analyzeTemplates([template], parts, schema)
    .variables.filter(({ required }) => required)
    .map(({ path }) => path);

test('variables have their paths, places and whether they are required', () => {
  const source = 'Hi {{user.name}},\n{{#vip}}{{tier}} {{user.name}}{{/vip}}{{^vip}}{{offer}}{{/vip}}';
  const { variables } = analyzeTemplates([parseMustache(source)], noParts);
  expect(variables.map(({ name, path, required }) => [name, path, required])).toEqual([
    ['user', 'user.name', true],
    ['vip', 'vip', false],
    ['tier', 'tier', false],
    ['offer', 'offer', false],
  ]);
  expect(variables[0]?.occurrences).toMatchObject([
    { text: 0, line: 1, column: 4, length: 13, within: { name: '', outer: undefined } },
    { text: 0, line: 2, column: 18, length: 13, within: { name: 'vip', outer: { name: '' } } },
  ]);
});

test('what leads to a required variable is required, even when it is only a condition itself', () => {
  expect(requiredOf(parseMustache('{{#user}}x{{/user}}{{user.name}}'))).toEqual(['user', 'user.name']);
});

test('variables of parts are placed at the tag, by the name the caller gives them', () => {
  const parts = partsOf({ sig: '{{who.first}} {{tone}} {{#opt}}{{deep}}{{/opt}}', 'wrap@2': '{{> sig who=person}}' });
  const { variables, parts: found } = analyzeTemplates([parseMustache('a\n {{> wrap@2 person=user tone="x"}}')], parts);
  expect(variables.map(({ path, required }) => [path, required])).toEqual([
    ['user', true],
    ['user.first', true],
    ['opt', false],
    ['deep', false],
  ]);
  expect(variables[1]?.occurrences).toMatchObject([
    { text: 0, line: 2, column: 2, length: 33, within: { outer: undefined }, message: 'in the part `sig`' },
  ]);
  expect(found).toEqual([
    { slug: 'wrap', ref: 'wrap@2', arguments: ['person', 'tone'], positions: [{ line: 2, column: 2, length: 33 }] },
  ]);
});

test('a default of the schema makes a variable optional, also one of the object around it', () => {
  const schema = {
    properties: {
      tone: { default: 'dry' },
      user: { default: { name: 'you' } },
      org: { properties: { id: { default: 1 } } },
    },
  };
  const template = parseMustache('{{tone}}{{user.name}}{{user.age}}{{org.id}}{{other}}');
  expect(requiredOf(template, noParts, schema)).toEqual(['user.age', 'other', 'org']);
});

test('a default within a default fills it, one within an object that has none makes the object required', () => {
  const template = parseMustache('{{o.deep}}{{p.deep}}{{q.deep}}{{r.deep}}');
  const properties = { deep: { default: 'D' } };
  const schema = {
    properties: {
      o: { default: {}, properties },
      p: { properties },
      q: { default: { deep: null }, properties },
      r: { default: {} },
    },
  };
  expect(requiredOf(template, noParts, schema)).toEqual(['q.deep', 'r.deep', 'p']);
});

test('what a schema says by references within it and by allOf counts, also of one that refers to itself', () => {
  const node = {
    required: ['name', 'nick'],
    properties: { name: {}, nick: { default: 'N' }, next: { $ref: '#/$defs/a~1%6eode' } },
  };
  const schema = {
    $defs: { 'a/node': node },
    properties: { user: { $ref: '#/$defs/a~1node' }, gone: { $ref: '#/$defs/none' }, far: { $ref: 'x.json#/' } },
    allOf: [{ required: ['must'], properties: { x: { default: 1 } } }, { $ref: '#' }],
  };
  const source =
    '{{x}}{{user.nick}}{{#user.name}}{{/user.name}}{{#user.next.name}}{{/user.next.name}}{{#must}}{{/must}}';
  expect(requiredOf(parseMustache(source), noParts, schema)).toEqual(['user.name', 'user.next.name', 'must', 'user']);
});

test('a part that only sees its arguments says what its tag does not give it', async () => {
  const part = await parseTemplate(threads, 'liquid', '{{ tone }}{{ who }}');
  const { variables, missingArguments } = analyzeTemplates([parseMustache('{{> p who=user}}')], new Map([['p', part]]));
  expect(variables.map(({ path }) => path)).toEqual(['user']);
  expect(missingArguments).toEqual([{ ref: 'p', name: 'tone', text: 0, line: 1, column: 1, length: 16 }]);
});

/** Sources and complete variables of the same names; `a.b` and `c` stand for themselves, `l` is a list of objects. */
const names = ['a.b', 'a.d', 'c', 'e', 'l'];
const complete = () => ({ a: { b: 'B', d: 'D' }, c: 'C', e: true, l: [{ f: 1 }, { f: 2, c: 'own' }] });
const name = fc.constantFrom(...names);

const mustacheBody = fc.letrec<{ body: string; piece: string }>((tie) => ({
  body: fc.array(tie('piece'), { maxLength: 4 }).map((pieces) => pieces.join('\n')),
  piece: fc.oneof(
    { maxDepth: 4 },
    name.map((each) => `{{${each}}}`),
    fc.constantFrom('text', '{{! comment }}', '{{#l}}{{f}}{{.}}{{/l}}'),
    fc.constantFrom(
      '{{> plain}}',
      '{{> given x=a.b y="lit"}}',
      '{{> given x=c y=e}}',
      '{{> nest}}',
      '{{> nest c=a.d}}',
    ),
    fc
      .tuple(fc.constantFrom('#', '^'), name, tie('body'))
      .map(([sigil, each, body]) => `{{${sigil}${each}}}${body}{{/${each}}}`),
  ),
})).body;

const parts = partsOf({
  plain: 'no variables',
  given: '{{x}}{{#y}}{{c}}{{/y}}',
  nest: '{{c}}{{> given x=e}}{{#l}}{{a.b}}{{/l}}',
});

const liquidBody = fc.letrec<{ body: string; piece: string }>((tie) => ({
  body: fc.array(tie('piece'), { maxLength: 4 }).map((pieces) => pieces.join(' ')),
  piece: fc.oneof(
    { maxDepth: 4 },
    name.map((each) => `{{ ${each} }}`),
    fc.tuple(name, name).map(([one, other]) => `{{ ${one} | default: ${other} }}`),
    fc.tuple(name, name).map(([one, other]) => `{{ ${one} | append: ${other} }}`),
    fc.constantFrom(
      '{% assign z = c %}{{ z }}',
      '{% capture z %}{{ a.d }}{% endcapture %}',
      "{% render 'leaf', x: a.b %}",
      "{% assign z = c %}{% render 'leaf', x: z %}",
      "{% for i in l %}{% render 'leaf', x: i.f %}{% endfor %}",
      "{% if e %}{% assign y = c %}{% endif %}{% render 'leaf', x: y %}",
    ),
    fc.tuple(name, tie('body')).map(([each, body]) => `{% if ${each} %}${body}{% endif %}`),
    tie('body').map((body) => `{% for i in l %}{{ i.f }}${body}{% endfor %}`),
  ),
})).body;

function without(path: string): Record<string, unknown> {
  const variables: Record<string, unknown> = complete();
  const [first = '', second] = path.split('.');
  const outer = variables[first];
  if (second === undefined) delete variables[first];
  else if (typeof outer === 'object' && outer !== null) Reflect.deleteProperty(outer, second);
  return variables;
}

async function failsWithout(template: ParsedTemplate, path: string, given = parts): Promise<boolean> {
  try {
    await renderTemplate(threads, template, { variables: without(path), parts: given, onMissing: 'error' });
    return false;
  } catch {
    return true;
  }
}

async function expectExact(template: ParsedTemplate, given = parts): Promise<void> {
  await renderTemplate(threads, template, { variables: complete(), parts: given, onMissing: 'error' });
  const required = requiredOf(template, given);
  const listed = analyzeTemplates([template], given).variables.map(({ path }) => path);
  for (const path of new Set([...listed.filter((each) => /^(?:a(?:\.[bd])?|c|e|l)$/.test(each)), ...names])) {
    expect([path, await failsWithout(template, path, given)]).toEqual([path, required.includes(path)]);
  }
}

describe('the variables reported as required are exactly those whose absence makes a strict render fail', () => {
  test('in mustache, with parts and arguments', async () => {
    await fc.assert(
      fc.asyncProperty(mustacheBody, async (source) => expectExact(parseMustache(source))),
      { numRuns: 400 },
    );
  });

  test('in liquid, with conditions, loops, filters and parts', async () => {
    const leaf = parseMustache('{{x}}{{#x}}{{y}}{{/x}}');
    await fc.assert(
      fc.asyncProperty(liquidBody, async (source) =>
        expectExact(await parseTemplate(threads, 'liquid', source), new Map([['leaf', leaf]])),
      ),
      { numRuns: 60 },
    );
  });
});
