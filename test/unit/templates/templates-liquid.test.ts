import { afterAll, describe, expect, test, vi } from 'vitest';
import {
  type OnMissing,
  parseTemplate,
  renderTemplate,
  TemplateThreads,
} from '../../../src/domains/templates/index.ts';
import { partsOf, problemsOf } from '../../support/templates.ts';

// A thread takes long to start on a busy machine.
vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000 });
const allThreads = new TemplateThreads();
const threads = allThreads.of('wsp_test');
afterAll(() => allThreads.close());

const parse = (source: string) => parseTemplate(threads, 'liquid', source);

async function render(source: string, variables = {}, parts = new Map(), onMissing: OnMissing = 'error') {
  return renderTemplate(threads, await parse(source), { variables, parts, onMissing });
}

test('filters, conditions, loops and raw are rendered', async () => {
  const source =
    '{{ n | upcase }}{% for i in l %}{% if i > 1 %} {{ i }}{% endif %}{% endfor %}{% raw %}{{ x }}{% endraw %}';
  expect((await render(source, { n: 'ada', l: [1, 2, 3] })).text).toBe('ADA 2 3{{ x }}');
});

test('objects and lists are inserted as JSON', async () => {
  expect((await render('{{ o }} {{ l }} {{ n }}', { o: { a: 1 }, l: [1, 'x'], n: 1.5 })).text).toBe(
    '{"a":1} [1,"x"] 1.5',
  );
});

test.each([
  ['{% capture c %}{{ o }} {{ l }} {{ n }}{{ none }}{% endcapture %}{{ c }}', '{"a":1} [1,"x"] 1.5'],
  ['{% capture c %}{% if n %}{{ o }}{% endif %}{% endcapture %}{{ c | size }}', '7'],
  ['{% capture c %}{% capture d %}{{ o }}{% endcapture %}<{{ d }}>{% endcapture %}{{ c }}', '<{"a":1}>'],
  ["{% capture c %}{% render 'p', x: o %}{% endcapture %}{{ c }}", '[{"a":1}]'],
])('objects and lists are captured as JSON in %s', async (source, text) => {
  const variables = { o: { a: 1 }, l: [1, 'x'], n: 1.5 };
  expect((await render(source, variables, partsOf({ p: '[{{x}}]' }), 'empty')).text).toBe(text);
});

test('what is missing fails by name and path, or is nothing, or stays; a default fills in', async () => {
  const source = '{{ user.name }} {{ tone | default: "calm" }}{% if vip %} {{ tier }}{% endif %}';
  await expect(render(source, { user: {} })).rejects.toMatchObject({
    code: 'missing_variables',
    missing: ['user.name'],
  });
  const variables = { user: {}, vip: true };
  expect((await render(source, variables, new Map(), 'empty')).missing).toEqual(['user.name', 'tier']);
  expect((await render(source, variables, new Map(), 'keep')).text).toBe('{{ user.name }} calm {{ tier }}');
});

const shelves = { l: [{ a: 'x' }, { a: 'y' }], m: [[1, 2]], o: { first: { x: 'z' } }, e: [], t: 'text' };

test.each([
  ['{{ l[0].a }} {{ l[-1].a }} {{ l.first.a }} {{ l.last.a }}', 'x y x y'],
  ['{{ l[1].a | upcase }}{% assign t = l[0].a %}{{ t }}', 'Yx'],
  ['{{ m[0][1] }} {{ m[0].size }} {{ e.size }} {{ o.size }} {{ t.size }}', '2 2 0 1 4'],
  ['{{ o.first.x }}', 'z'],
])('the properties and indexes of lists in %s are found', async (source, text) => {
  expect((await render(source, shelves)).text).toBe(text);
});

test.each(['l[2].a', 'e.first', 'o.last', 'o.first.y', 'l.first.b', 't.first', 'gone.size'])(
  '{{ %s }}, which is not there, is missing',
  async (path) => {
    const missing = [path.replaceAll(/\[(\d)\]/g, '.$1')];
    await expect(render(`{{ ${path} }}`, shelves)).rejects.toMatchObject({ code: 'missing_variables', missing });
  },
);

test.each([
  ['{{ a | upcase }}!', '{{ a | upcase }}!'],
  ['x {{- a.b | append: "x" -}} y', 'x{{- a.b | append: "x" -}}y'],
  ['{% assign q = a | upcase %}[{{ q }}]', '{% assign q = a | upcase %}[{{ q }}]'],
  ['{% capture c %}{{ a | strip }}{% endcapture %}{{ c }}', '{{ a | strip }}'],
  ['{% echo a | upcase %}', '{% echo a | upcase %}'],
  ['{% liquid\n  echo a | upcase\n  echo b %}', '{% echo a | upcase %}B'],
  ["[{% render 'gone@3', x: b %}]", "[{% render 'gone@3', x: b %}]"],
])('what %j misses is kept as it is written', async (source, kept) => {
  expect((await render(source, { b: 'B' }, new Map(), 'keep')).text).toBe(kept);
});

test('every fault is reported with its place and a suggestion', async () => {
  const source = 'é {{ a | upcse }}\n  {% iff x %}{% for %}{% endfor %}';
  const problems = await problemsOf(() => parse(source));
  expect(problems).toMatchObject([
    { code: 'unknown_filter', line: 1, column: 3, length: 15, suggestion: 'upcase' },
    { code: 'unknown_tag', line: 2, column: 3, length: 11, suggestion: 'if' },
    { code: 'syntax_error', line: 2, column: 14, length: 9 },
  ]);
});

test.each([
  'include "x"',
  'layout "x"',
  'block x',
  'render x',
  'render "../x"',
  'render "{{ x }}"',
  'render "p" with a',
])('the tag {%% %s %%} is refused', async (tag) => {
  const [problem] = await problemsOf(() => parse(`{% ${tag} %}`));
  expect(['tag_refused', 'syntax_error', 'unclosed_tag']).toContain(problem?.code);
});

test.each(['constructor', '__proto__', 'toString', 'o.constructor', 'o.__proto__', 'l.constructor', 's.constructor'])(
  'the name %s reaches no prototype',
  async (name) => {
    const { text } = await render(`<{{ ${name} }}>`, { o: {}, l: [], s: 'x' }, new Map(), 'empty');
    expect(text).toBe('<>');
  },
);

test('a file of the working directory is not a part', async () => {
  await expect(render('{% render "package.json" %}')).rejects.toMatchObject({ code: 'unknown_part' });
});

describe('parts of other formats', () => {
  test('a liquid template renders a mustache part with its arguments only', async () => {
    const parts = partsOf({ 'sig@2': '{{#who}}{{first}}{{/who}} {{tone}}{{outer}}' });
    const source = "{% render 'sig@2', who: user, tone: 'dry', n: 2 %}";
    const variables = { user: { first: 'Ada' }, outer: 'unseen' };
    expect((await render(source, variables, parts, 'empty')).text).toBe('Ada dry');
    await expect(render(source, variables, parts)).rejects.toMatchObject({ missing: ['outer'] });
  });

  test('a mustache template renders a liquid part with its arguments only, which renders a mustache part again', async () => {
    const parts = new Map([
      ...partsOf({ leaf: '[{{v}}]', root: 'x' }),
      ['mid', await parse("{{ v | upcase }}{{ outer }}{% render 'leaf', v: v %}")] as const,
      ['text', await parseTemplate(threads, 'plain', '{{ as it is }}')] as const,
    ]);
    const root = await parseTemplate(threads, 'mustache', '{{outer}}:{{> mid v=name}} {{> text}}');
    const options = { variables: { outer: 'o', name: 'ada' }, parts, onMissing: 'empty' as const };
    const rendered = await renderTemplate(threads, root, options);
    expect(rendered).toEqual({ text: 'o:ADA[ada] {{ as it is }}', used: ['outer', 'name'], missing: ['outer'] });
  });
});

describe('limits', () => {
  test.each([
    ['an endless range', '{% for i in (1..999999999) %}x{% endfor %}'],
    [
      'loops within loops',
      '{% for a in l %}{% for b in l %}{% for c in l %}{% for d in l %}x{% endfor %}{% endfor %}{% endfor %}{% endfor %}',
    ],
    [
      'a doubled string',
      '{% assign s = "xxxxxxxx" %}{% for i in l %}{% assign s = s | append: s %}{% endfor %}{{ s }}',
    ],
    [
      'a capture that grows',
      '{% for a in l %}{% for b in l %}{% capture s %}{{ s }}{{ s }}x{% endcapture %}{% endfor %}{% endfor %}',
    ],
    [
      'an object that is captured again and again',
      '{% for a in l %}{% capture s %}{{ o }}{% endcapture %}{% endfor %}',
    ],
    ['objects in one capture', '{% capture s %}{% for a in l %}{{ o }}{% endfor %}{% endcapture %}'],
    ['an object of many values in a capture', '{% capture s %}{% for a in l %}{{ l }}{% endfor %}{% endcapture %}'],
    ['a nesting of 20,000', '{% if l %}'.repeat(20_000) + '{% endif %}'.repeat(20_000)],
  ])('%s ends within a second as template_limit, and the next template renders', async (_what, source) => {
    const startMs = performance.now();
    const l = Array.from({ length: 400 }, (_, index) => index);
    const o = { text: 'x'.repeat(100_000) };
    await expect(render(source, { l, o })).rejects.toMatchObject({ code: 'template_limit' });
    expect(performance.now() - startMs).toBeLessThan(3_000);
    expect((await render('{{ v }}', { v: 'alive' })).text).toBe('alive');
  });

  test('closed threads refuse work instead of starting again', async () => {
    const closed = new TemplateThreads();
    await closed.close();
    await expect(parseTemplate(closed.of('wsp_test'), 'liquid', 'x')).rejects.toMatchObject({ kind: 'unavailable' });
  });
});
