/**
 * A prompt that exceeds a limit, and the budgets that the error may name. On a slow machine, the
 * time is exceeded before the steps.
 */
export interface Attack {
  what: string;
  template: string;
  template_format?: 'mustache' | 'liquid';
  variables?: Record<string, unknown>;
  input_schema?: Record<string, unknown>;
  /** Parts that are saved before the prompt, in this order. */
  parts?: Record<string, string>;
  budgets: readonly string[];
}

const list = Array.from({ length: 3_000 }, (_, index) => ({ index, s: 'x' }));
const numbers = Array.from({ length: 400 }, (_, index) => index);
const megabyte = 1_000_000;
const explodingDepth = 8;

/** Each part includes the previous one four times: 4 to the power of 8 in total. */
const exploding = Object.fromEntries(
  Array.from({ length: explodingDepth }, (_, level) => [
    `exploding-${level}`,
    level === 0 ? 'x' : `{{> exploding-${level - 1}}}`.repeat(4),
  ]),
);

const schema: Attack = {
  what: 'input schema: a pattern that tries every way',
  template: '{{v}}',
  input_schema: { properties: { v: { type: 'string', pattern: '^(a+)+$' } } },
  variables: { v: `${'a'.repeat(60)}!` },
  budgets: ['time'],
};

const mustache: Attack[] = [
  {
    what: 'mustache: a list within a list within a list',
    template: '{{#l}}{{#l}}{{#l}}x{{/l}}{{/l}}{{/l}}',
    variables: { l: list },
    budgets: ['steps', 'time'],
  },
  {
    what: 'mustache: names looked up through many contexts',
    template: `${'{{#a}}'.repeat(32)}${'{{nowhere}}'.repeat(4_900)}${'{{/a}}'.repeat(32)}`,
    variables: { a: {} },
    budgets: ['steps', 'time'],
  },
  {
    what: 'mustache: a large value many times',
    template: '{{v}}'.repeat(4_900),
    variables: { v: 'x'.repeat(100_000) },
    budgets: ['output'],
  },
  {
    what: 'mustache: a large object as JSON many times',
    template: '{{o}}'.repeat(4_900),
    variables: { o: Object.fromEntries(list.map(({ index }) => [`key${index}`, index])) },
    budgets: ['steps', 'time'],
  },
  {
    what: 'mustache: sections nested 40,000 deep',
    template: '{{#a}}'.repeat(40_000),
    budgets: ['nesting'],
  },
  { what: 'mustache: 40,000 tags', template: '{{a}}'.repeat(40_000), variables: { a: 1 }, budgets: ['nodes'] },
  { what: 'mustache: a megabyte', template: 'x'.repeat(megabyte), budgets: ['source'] },
  {
    what: 'mustache: parts that explode',
    template: `{{> exploding-${explodingDepth - 1}}}`,
    parts: exploding,
    budgets: ['parts'],
  },
];

const liquid = [
  {
    what: 'a range of a thousand million',
    template: '{% for i in (1..999999999) %}x{% endfor %}',
    budgets: ['memory', 'time'],
  },
  {
    what: 'loops within loops',
    template:
      '{% for a in l %}{% for b in l %}{% for c in l %}{% for d in l %}{% endfor %}{% endfor %}{% endfor %}{% endfor %}',
    variables: { l: numbers },
    budgets: ['time'],
  },
  {
    what: 'a text that is doubled again and again',
    template: '{% assign s = "xxxxxxxx" %}{% for i in l %}{% assign s = s | append: s %}{% endfor %}{{ s }}',
    variables: { l: numbers },
    budgets: ['memory', 'time'],
  },
  {
    what: 'a huge output',
    template: '{% for a in l %}{% for b in l %}{{ v }}{% endfor %}{% endfor %}',
    variables: { l: numbers, v: 'x'.repeat(100) },
    budgets: ['output', 'time'],
  },
  {
    what: 'blocks nested 2,000 deep',
    template: `${'{% if a %}'.repeat(2_000)}${'{% endif %}'.repeat(2_000)}`,
    budgets: ['nesting', 'time'],
  },
  { what: 'a megabyte', template: '{{ a }}'.repeat(megabyte / 7), budgets: ['source'] },
  {
    what: 'a filter that joins a text by itself',
    template: '{{ v | split: "" | join: v }}',
    variables: { v: 'x'.repeat(100_000) },
    budgets: ['memory', 'time'],
  },
  {
    what: 'a filter that pads to a thousand million',
    template: "{{ '2026-01-01' | date: '%999999999Y' }}",
    budgets: ['memory', 'time'],
  },
  {
    what: 'a filter that repeats a text in a text',
    template: `{% assign s = v %}${"{% assign s = s | replace: 'a', s %}".repeat(5)}{{ s }}`,
    variables: { v: 'a'.repeat(1_000) },
    budgets: ['memory', 'time'],
  },
].map((each): Attack => ({ ...each, what: `liquid: ${each.what}`, template_format: 'liquid' }));

export const attacks: readonly Attack[] = [...mustache, ...liquid, schema];
