import { afterAll, expect, test, vi } from 'vitest';
import {
  analyzeTemplates,
  contextWindowOf,
  expandParts,
  lintTemplate,
  parseMessages,
  parseTemplate,
  renderMessages,
  TemplateThreads,
} from '../../../src/domains/templates/index.ts';
import type { LintInput } from '../../../src/domains/templates/lint-template.ts';
import { parseMustache } from '../../../src/domains/templates/mustache/parse-mustache.ts';
import { problemsOf } from '../../support/templates.ts';

// A thread takes long to start on a busy machine.
vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000 });
const allThreads = new TemplateThreads();
const threads = allThreads.of('wsp_test');
afterAll(() => allThreads.close());

const nothing = { parts: new Map(), states: [], problems: [] };

function lint(source: string, more: Partial<LintInput> = {}) {
  const template = parseMustache(source);
  const analysis = analyzeTemplates([template], nothing.parts, more.inputSchema);
  return lintTemplate({ prompt: { template }, analysis, expanded: nothing, knownParts: [], ...more });
}

test('a template without faults has no lints', async () => {
  expect(await lint('Hi {{name}}', { inputSchema: { properties: { name: {} } } })).toEqual([]);
});

test('an unknown part is an error with a suggestion, and a cycle one with its path', async () => {
  const template = parseMustache('{{> singature}} {{> loop}}');
  const loop = { slug: 'loop', version: 1, template: parseMustache('{{> loop}}') };
  const expanded = expandParts([template], (slug) => (slug === 'loop' ? loop : undefined));
  const analysis = analyzeTemplates([template], expanded.parts);
  expect(
    await lintTemplate({ prompt: { template }, analysis, expanded, knownParts: ['signature', 'loop'] }),
  ).toMatchObject([
    { code: 'unknown_part', severity: 'error', path: 'template', column: 1, length: 15, suggestion: 'signature' },
    { code: 'part_cycle', severity: 'error', column: 17, message: expect.stringContaining('loop > loop') },
  ]);
});

test('undeclared variables have a suggestion, unused ones a path; fields of items are not undeclared', async () => {
  const inputSchema = {
    properties: {
      name: { type: 'string' },
      unused: {},
      items: { type: 'array', items: { properties: { title: {} }, additionalProperties: false } },
      free: { type: 'object' },
    },
  };
  const source = '{{nmae}} {{free.any}} {{#items}}{{title}} {{titel}} {{name}}{{/items}}';
  expect(
    (await lint(source, { inputSchema })).map(({ code, path, column, suggestion }) => [code, path, column, suggestion]),
  ).toEqual([
    ['undeclared_variable', 'template', 1, 'name'],
    ['undeclared_variable', 'template', 43, undefined],
    ['unused_variable', 'input_schema.properties.unused', 1, undefined],
  ]);
});

test('a password in an address is one, unless a variable stands for it', async () => {
  const secret = 'postgres://app:hunter2@';
  expect(await lint(`Connect to ${secret}db.internal/x`)).toMatchObject([
    { code: 'secret_literal', line: 1, column: 12, length: secret.length },
  ]);
  const lints = await lint('postgres://{{user}}:{{pass}}@db https://example.com:8080/a@b mail:me@x');
  const codes = lints.map(({ code }) => code);
  expect(codes).not.toContain('secret_literal');
});

test('every one of several secrets of a kind is placed', async () => {
  const secret = `hf_${'a1B2'.repeat(8)}`;
  expect((await lint(`${secret} and ${secret}`)).map(({ code, column }) => [code, column])).toEqual([
    ['secret_literal', 1],
    ['secret_literal', secret.length + 6],
  ]);
});

test('a literal that looks like a secret is placed and never repeated', async () => {
  const secret = `sk-proj-${'a1B2'.repeat(8)}`;
  const lints = await lint(`line\nuse ${secret} here`);
  expect(lints).toMatchObject([{ code: 'secret_literal', line: 2, column: 5, length: secret.length }]);
  expect(JSON.stringify(lints)).not.toContain(secret);
});

test('variables in a system message and an overfull context window are warned of', async () => {
  const messages = await parseMessages(threads, 'mustache', [
    { role: 'system', content: 'You help {{who}}.' },
    { role: 'user', content: '{{question}}' },
  ]);
  const model = 'gpt-4o';
  const window = contextWindowOf(model, 'openai') ?? 0;
  expect(window).toBeGreaterThan(100_000);
  const analysis = analyzeTemplates(
    messages.flatMap((each) => ('content' in each ? [each.content] : [])),
    nothing.parts,
  );
  const input = { prompt: { messages }, analysis, expanded: nothing, knownParts: [], model, provider: 'openai' };
  expect(await lintTemplate({ ...input, tokens: window + 1 })).toMatchObject([
    { code: 'variable_in_system_message', path: 'messages[0].content', column: 10, severity: 'warning' },
    { code: 'context_window_exceeded', severity: 'warning' },
  ]);
  expect(await lintTemplate({ ...input, tokens: window })).toHaveLength(1);
});

test('the messages of a chat report their problems together, each under its own path', async () => {
  const messages = [
    { role: 'system', content: '{{a b}}' },
    { placeholder: 'history' },
    { role: 'user', content: '{{#x}}' },
  ];
  const problems = await problemsOf(() => parseMessages(threads, 'mustache', messages));
  expect(problems.map(({ path, code }) => [path, code])).toEqual([
    ['messages[0].content', 'invalid_name'],
    ['messages[2].content', 'unclosed_section'],
  ]);
});

test.each(['mustache', 'liquid', 'plain'] as const)('a %s chat takes messages at its placeholders', async (format) => {
  const messages = await parseMessages(threads, format, [
    { role: 'system', content: 'Hi {{ name }}' },
    { placeholder: 'history' },
    { role: 'user', content: 'Go' },
  ]);
  const history = [{ role: 'assistant', content: '{{ name }} stays' }];
  const options = { variables: { name: 'Ada' }, parts: new Map(), onMissing: 'error' as const };
  const { messages: rendered } = await renderMessages(threads, messages, { ...options, placeholders: { history } });
  expect(rendered).toEqual([
    { role: 'system', content: format === 'plain' ? 'Hi {{ name }}' : 'Hi Ada' },
    ...history,
    { role: 'user', content: 'Go' },
  ]);
  const missing = renderMessages(threads, messages, { ...options, placeholders: {} });
  await expect(missing).rejects.toMatchObject({ code: 'missing_variables', missing: ['placeholders.history'] });
  const kept = await renderMessages(threads, messages, { ...options, onMissing: 'keep', placeholders: {} });
  expect(kept.messages[1]).toEqual({ placeholder: 'history' });
});

const used = (times: number) => Array.from({ length: times }, () => ({ placeholder: 'history' }));
const fill = async (times: number, history: object[]) => {
  const options = { variables: {}, parts: new Map(), onMissing: 'error' as const };
  return renderMessages(threads, used(times), { ...options, placeholders: { history } });
};

test.each([
  ['200 times with 1 MB', 200, [{ role: 'u', content: 'x'.repeat(1_000_000) }]],
  ['twice with more than half of the characters', 2, [{ role: 'u', content: 'x'.repeat(524_288) }]],
  ['200 times with 51 messages', 200, Array.from({ length: 51 }, () => ({ role: 'u' }))],
])('a placeholder that is used %s is refused', async (_what, times, history) => {
  await expect(fill(times, history)).rejects.toMatchObject({ code: 'template_limit', budget: 'output' });
});

test.each([
  ['once with as much as a body can have', 1, [{ role: 'u', content: 'x'.repeat(1_048_576) }]],
  ['twice with 500,000 characters', 2, [{ role: 'u', content: 'x'.repeat(500_000) }]],
  ['200 times with 50 messages', 200, Array.from({ length: 50 }, () => ({ role: 'u' }))],
])('a placeholder that is used %s is replaced', async (_what, times, history) => {
  expect((await fill(times, history)).messages).toHaveLength(times * history.length);
});

test('a liquid template that needs a part it cannot see through says so', async () => {
  const template = await parseTemplate(threads, 'liquid', "{% render 'sig' %}");
  const expanded = { ...nothing, parts: new Map([['sig', parseMustache('{{who}}')]]) };
  const analysis = analyzeTemplates([template], expanded.parts);
  expect(await lintTemplate({ prompt: { template }, analysis, expanded, knownParts: [] })).toMatchObject([
    { code: 'missing_argument', message: expect.stringContaining('`who`'), severity: 'warning' },
  ]);
});

test('secrets are looked for in linear time, also in beginnings of JSON web tokens without an end', async () => {
  const source = 'eyJ-'.repeat(65_536);
  const startedAtMs = performance.now();
  expect(await lint(source)).toEqual([]);
  expect(performance.now() - startedAtMs).toBeLessThan(1_000);
});
