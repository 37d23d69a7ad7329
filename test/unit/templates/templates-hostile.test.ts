import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import {
  expandParts,
  type ParsedTemplate,
  parseTemplate,
  renderTemplate,
  type TemplateFormat,
  TemplateThreads,
} from '../../../src/domains/templates/index.ts';
import { parseMustache } from '../../../src/domains/templates/mustache/parse-mustache.ts';
import { partsOf } from '../../support/templates.ts';

/** Prints what the attacks cost. */
const figures = process.env.TEMPLATE_FIGURES !== undefined;

// A thread takes long to start on a busy machine.
vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000 });
const allThreads = new TemplateThreads();
const threads = allThreads.of('wsp_test');
beforeAll(async () => {
  // Threads start, and code is compiled, before anything is measured.
  await parseTemplate(threads, 'liquid', '{{ warm }}');
  for (let index = 0; index < 20; index++) await attempt({ source: '{{#l}}{{a.b}}{{> p x=v}}{{o}}{{/l}}'.repeat(50) });
});
afterAll(() => allThreads.close());

interface Attack {
  format?: TemplateFormat;
  source: string;
  variables?: Record<string, unknown>;
  parts?: Record<string, string>;
}

const list = Array.from({ length: 3_000 }, (_, index) => ({ index, s: 'x' }));
// As many as a body of a megabyte can have.
const wide = Object.fromEntries(Array.from({ length: 65_000 }, (_, index) => [`k${index}`, index]));
const deep = JSON.parse(`${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`);

const exploding = Object.fromEntries(
  Array.from({ length: 12 }, (_, level) => [`p${level}`, `{{> p${level + 1}}}{{> p${level + 1}}}`.repeat(2)]),
);

const attacks: Readonly<Record<string, Attack>> = {
  'a list within a list within a list': { source: '{{#l}}{{#l}}{{#l}}x{{/l}}{{/l}}{{/l}}', variables: { l: list } },
  'an empty section over a long list, many times': { source: '{{#l}}{{/l}}'.repeat(4_900), variables: { l: list } },
  'names looked up through many contexts': {
    source: `${'{{#a}}'.repeat(32)}${'{{nowhere}}'.repeat(4_900)}${'{{/a}}'.repeat(32)}`,
    variables: { a: {} },
  },
  'a large value, many times': { source: '{{v}}'.repeat(4_900), variables: { v: 'x'.repeat(100_000) } },
  'a large object as JSON, many times': { source: '{{o}}'.repeat(4_900), variables: { o: wide } },
  'a small object as JSON over a list': {
    source: '{{#l}}{{o}}{{o}}{{/l}}',
    variables: { l: list, o: { a: [1, 2, 3] } },
  },
  'an object of 5,000 levels': { source: '{{o}}', variables: { o: deep } },
  'parts that each include two others twice': { source: '{{> p0}}', parts: exploding },
  'a part of many lines, indented by much': {
    source: `${' '.repeat(200_000)}{{> p}}`,
    parts: { p: '\na'.repeat(130_000) },
  },
  'a part of many lines, indented by as much as a string can have': {
    source: `${' '.repeat(3_500)}{{> p}}`,
    parts: { p: '\na'.repeat(130_000) },
  },
  'a part that includes itself': { source: '{{> p}}', parts: { p: 'x{{> p}}' } },
  'a part with itself in a list': { source: '{{> p}}', parts: { p: '{{#l}}{{> p}}{{/l}}' }, variables: { l: list } },
  'sections nested 50,000 deep': { source: '{{#a}}'.repeat(40_000) },
  'tags that never end': { source: '{{#a'.repeat(60_000) },
  'only braces': { source: '{'.repeat(262_144) },
  '250,000 quotes in a part tag': { source: `{{> p x="${'\\"'.repeat(120_000)}` },
  'part tags that never close their quotes': { source: '{{> p x="'.repeat(29_000) },
  'a name of 200,000 segments': { source: `{{${'a.'.repeat(100_000)}a}}` },
  '20,000 tags': { source: '{{a}}'.repeat(20_000) },
  'blank lines around tags': { source: `${' '.repeat(1_000)}{{! x }}${' '.repeat(1_000)}`.repeat(120) },
  'a megabyte': { source: 'x'.repeat(1_048_576) },
  'a megabyte of liquid': { format: 'liquid', source: '{{ a }}'.repeat(150_000) },
  'liquid loops': { format: 'liquid', source: '{% for i in (1..9999999) %}{{ i }}{% endfor %}' },
  'liquid tags that never end': { format: 'liquid', source: '{% if a '.repeat(30_000) },
  'liquid nested deep': { format: 'liquid', source: '{% if a %}'.repeat(25_000) },
  'liquid with many filters': {
    format: 'liquid',
    source: `{{ a ${'| append: a '.repeat(20_000)} }}`,
    variables: { a: 'xxxx' },
  },
  prototypes: { source: '{{constructor.constructor}}{{__proto__.polluted}}{{#constructor}}x{{/constructor}}' },
};

async function attempt({ format = 'mustache', source, variables = {}, parts = {} }: Attack): Promise<string> {
  try {
    const template: ParsedTemplate = await parseTemplate(threads, format, source);
    const options = { variables, parts: partsOf(parts), onMissing: 'empty' as const };
    const { text } = await renderTemplate(threads, template, options);
    return text === '' ? 'empty' : 'rendered';
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : String(error);
  }
}

/** How long the event loop was busy with it: of six tries the best, because other work on the machine counts too. */
async function blockedMs(attack: Attack): Promise<{ busyMs: number; outcome: string; elapsedMs: number }> {
  const tries: { busyMs: number; outcome: string; elapsedMs: number }[] = [];
  for (let index = 0; index < 6; index++) {
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    // The monitor measures from tick to tick, so it needs one before and one after.
    await ticked(delay);
    const startMs = performance.now();
    const outcome = await attempt(attack);
    const elapsedMs = performance.now() - startMs;
    await ticked(delay);
    delay.disable();
    tries.push({ busyMs: delay.max / 1e6, outcome, elapsedMs });
    if (delay.max / 1e6 < 25 && elapsedMs < 1_000) break;
  }
  return {
    outcome: tries[0]?.outcome ?? '',
    busyMs: Math.min(...tries.map(({ busyMs }) => busyMs)),
    elapsedMs: Math.min(...tries.map(({ elapsedMs }) => elapsedMs)),
  };
}

async function ticked(delay: IntervalHistogram): Promise<void> {
  const before = delay.count;
  await vi.waitUntil(() => delay.count >= before + 2, { interval: 1, timeout: 10_000 });
}

describe('a hostile template is over within a second, and holds up the event loop for less than 50 ms', () => {
  test.each(Object.entries(attacks))('%s', async (name, attack) => {
    const { busyMs, outcome, elapsedMs } = await blockedMs(attack);
    if (figures) console.log(`${name}: ${outcome}, ${busyMs.toFixed(1)} ms blocked`);
    expect(['template_limit', 'invalid_template', 'rendered', 'empty']).toContain(outcome);
    expect(busyMs).toBeLessThan(50);
    expect(elapsedMs).toBeLessThan(1_000);
  });
});

test('expanding parts that explode takes no time', () => {
  const parts = partsOf(exploding);
  const startMs = performance.now();
  const { problems } = expandParts([parseMustache('{{> p0}}')], (slug) => {
    const template = parts.get(slug);
    return template && { slug, version: 1, template };
  });
  expect(performance.now() - startMs).toBeLessThan(50);
  expect(problems.map(({ code }) => code)).toContain('template_limit');
});

test('while the threads are busy with hostile templates, a mustache render does not wait', async () => {
  const hostile = Promise.all(
    Array.from({ length: 6 }, () =>
      attempt({
        format: 'liquid',
        source: '{% for i in l %}{% for j in l %}{{ j }}{% endfor %}{% endfor %}',
        variables: { l: list },
      }),
    ),
  );
  const startMs = performance.now();
  expect(await attempt({ source: 'Hi {{name}}', variables: { name: 'Ada' } })).toBe('rendered');
  expect(performance.now() - startMs).toBeLessThan(50);
  expect(new Set(await hostile)).toEqual(new Set(['template_limit']));
});
