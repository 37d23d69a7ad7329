import { describe, expect, test, vi } from 'vitest';
import type { Problem } from '../../../src/http/problem.ts';
import { newId } from '../../../src/lib/ids.ts';
import { expectProblem, newKey, newProject, startApi } from '../../support/api.ts';
import { watchLoop } from '../../support/loop-delay.ts';
import { usePromptApi } from '../../support/prompt-api.ts';
import { refusedRender, render, type WireRendered } from '../../support/rendering.ts';
import { until } from '../../support/until.ts';

// A template thread takes long to start on a busy machine.
vi.setConfig({ testTimeout: 30_000 });
const it = usePromptApi();

describe('200', () => {
  test('renders of a million control characters, two dozen at a time, hold up nobody', async () => {
    const { slug } = await it.newPart({ template: '\u0001'.repeat(170_000) });
    const { id } = await it.newPrompt({ template: `{{> ${slug}}}`.repeat(6) });
    const url = `${it.api.url}/api/projects/${it.project.id}/prompts/${id}/render`;
    const headers = { 'X-API-Key': it.project.key };
    const loop = watchLoop();
    const answers = Array.from({ length: 24 }, () => fetch(url, { method: 'POST', headers }));
    // The answers are not parsed here, which would take as long.
    const statuses = await Promise.all(
      answers.map(async (answer) => [(await answer).status, (await answer).arrayBuffer()]),
    );
    expect(loop.stop()).toBeLessThan(150);
    expect(statuses.map(([status]) => status)).toEqual(Array(24).fill(200));
  });

  test('what needs nothing is rendered without a body', async () => {
    const { id } = await it.newPrompt({ template: 'Just this.' });
    const answer = await it.call<{ rendered: string }>('renderPrompt', id);
    expect(answer).toMatchObject({ status: 200, body: { rendered: 'Just this.' } });
  });

  test('a text is rendered, and everything is said of how', async () => {
    const { id, slug } = await it.newPrompt({
      template: 'Hi {{user.name}}, {{tone}}: {{data}} <{{{raw}}}>{{#vip}} {{gift}}{{/vip}}',
      config: { provider: 'openai', model: 'gpt-4o' },
      input_schema: { properties: { tone: { default: 'dry' } } },
    });
    const variables = { user: { name: 'Ada & "Co"' }, data: { a: [1, null] }, raw: '<b>', extra: 1 };
    const answer = await render(it, id, { variables });
    expect(answer).toEqual({
      prompt_id: id,
      slug,
      version: 1,
      type: 'text',
      rendered: 'Hi Ada & "Co", dry: {"a":[1,null]} <<b>>',
      config: { provider: 'openai', model: 'gpt-4o' },
      variables: {
        used: expect.toSatisfy((used: string[]) => `${used.toSorted()}` === 'data,raw,tone,user'),
        defaulted: ['tone'],
        missing: [],
        unused: ['extra'],
      },
      parts: [],
      tokens: { count: 17, model: 'gpt-4o', estimated: false },
      // 2.50 dollars a million.
      estimated_cost: '0.0000425',
      otel_attributes: { 'gen_ai.prompt.name': slug, 'gen_ai.prompt.version': '1', 'promptlane.prompt.id': id },
      warnings: [],
    });
    expect(await render(it, slug, { variables })).toEqual(answer);
  });

  test('a chat has its messages, and those given take the placeholder as they are', async () => {
    const { slug } = await it.newPrompt({
      type: 'chat',
      template: undefined,
      messages: [
        { role: 'system', content: 'Be {{tone}}.' },
        { placeholder: 'history' },
        { role: 'user', content: '{{q}}' },
      ],
    });
    const history = [
      { role: 'user', content: '{{tone}} stays' },
      { role: 'assistant', content: null, tool_calls: [{ id: 'a', function: { name: 'f' } }] },
      { role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: 'hello world' }] },
    ];
    const variables = { tone: 'kind', q: 'Why?' };
    const { messages, tokens, ...answer } = await render(it, slug, { variables, placeholders: { history } });
    expect(messages).toEqual([{ role: 'system', content: 'Be kind.' }, ...history, { role: 'user', content: 'Why?' }]);
    expect(answer).toMatchObject({ type: 'chat', config: null, estimated_cost: null, warnings: [] });
    expect(answer.rendered).toBeUndefined();
    expect(tokens).toMatchObject({ model: null, estimated: true });
    const empty = await render(it, slug, { variables, placeholders: { history: [], other: [] } });
    expect(empty.messages).toHaveLength(2);
    expect(empty.warnings).toMatchObject([{ code: 'unused_placeholder', path: 'placeholders.other' }]);
    const kept = await render(it, slug, { on_missing: 'keep' });
    expect(kept.messages?.[1]).toEqual({ placeholder: 'history' });
    expect(kept.variables.missing).toEqual(['tone', 'q', 'placeholders.history']);
  });

  test('plain text is given as it is, tags and all, and needs nothing', async () => {
    const { id } = await it.newPrompt({ template: 'As {{ it }} is\r\n{% if %}', template_format: 'plain' });
    expect(await render(it, id, { variables: { it: 1 } })).toMatchObject({
      rendered: 'As {{ it }} is\r\n{% if %}',
      variables: { used: [], missing: [], unused: ['it'] },
      parts: [],
    });
  });

  test('a chat in liquid has its messages, with what parts and defaults fill in', async () => {
    const { slug: part } = await it.newPart({ template: '{{ tone | upcase }}', template_format: 'liquid' });
    const { slug } = await it.newPrompt({
      type: 'chat',
      template: undefined,
      template_format: 'liquid',
      messages: [
        { role: 'system', content: `Be {% render '${part}', tone: mood %}.` },
        { placeholder: 'history' },
        { role: 'user', content: '{% for q in questions %}{{ forloop.index }}. {{ q }} {% endfor %}' },
      ],
      input_schema: { properties: { mood: { type: 'string', default: 'calm' } } },
    });
    const history = [{ role: 'assistant', content: '{{ mood }}' }];
    const answer = await render(it, slug, { variables: { questions: ['Why?', 'How?'] }, placeholders: { history } });
    expect(answer).toMatchObject({
      messages: [{ content: 'Be CALM.' }, ...history, { role: 'user', content: '1. Why? 2. How? ' }],
      variables: { defaulted: ['mood'], missing: [] },
      parts: [{ slug: part, version: 1 }],
    });
  });

  test('a chat of nothing but a placeholder has what is given for it', async () => {
    const { id } = await it.newPrompt({ type: 'chat', template: undefined, messages: [{ placeholder: 'history' }] });
    const history = [{ role: 'user', content: 'Hello' }];
    expect(await render(it, id, { placeholders: { history } })).toMatchObject({ messages: history });
  });

  test('the version is the one that is named, or labeled, or the newest', async () => {
    const { id } = await it.newPrompt({ template: 'one', labels: ['production'] });
    await it.ok('updatePrompt', id, { body: { template: 'two' } });
    expect(await render(it, id)).toMatchObject({ version: 2, rendered: 'two' });
    expect(await render(it, id, { version: 1 })).toMatchObject({ version: 1, rendered: 'one' });
    expect(await render(it, id, { label: 'production' })).toMatchObject({ version: 1, label: 'production' });
    expect(await render(it, id, { label: 'latest' })).toMatchObject({ version: 2, label: 'latest' });
  });

  test('what is missing is left out, or stays as it is written', async () => {
    const { id } = await it.newPrompt({ template: 'a{{ x }}b{{#on}}{{y}}{{/on}}' });
    const given = { variables: { on: true, x: null } };
    expect(await render(it, id, { ...given, on_missing: 'empty' })).toMatchObject({
      rendered: 'ab',
      variables: { missing: ['x', 'y'] },
    });
    expect(await render(it, id, { ...given, on_missing: 'keep' })).toMatchObject({ rendered: 'a{{ x }}b{{y}}' });
    expect(await render(it, id, { variables: { x: 0 } })).toMatchObject({ rendered: 'a0b' });
  });

  test('parts are what their references come to now, whoever changes them and wherever', async () => {
    const inner = await it.newPart({ template: '[{{tone}}]' });
    const outer = await it.newPart({ template: `({{> ${inner.slug}}})`, labels: ['stable'] });
    const { id } = await it.newPrompt({ template: `{{> ${outer.slug} tone="dry"}} {{> ${outer.slug}@stable}}` });
    const pinned = await it.newPrompt({ template: `{{> ${outer.slug}@1}}{{> ${inner.slug}@1}}` });
    const renderNow = async () => {
      const { rendered, parts } = await render(it, id, { variables: { tone: 'warm' } });
      return [rendered, ...parts.map(({ slug, version }) => `${slug}@${version}`).toSorted()];
    };
    const versions = (of: string, ...numbers: number[]) => numbers.map((number) => `${of}@${number}`);
    expect(await renderNow()).toEqual([
      '([dry]) ([warm])',
      ...[...versions(inner.slug, 1), ...versions(outer.slug, 1)].toSorted(),
    ]);
    await it.ok('updatePart', inner.id, { body: { template: '<{{tone}}>' } });
    expect((await renderNow())[0]).toBe('(<dry>) (<warm>)');
    await it.ok('updatePart', outer.id, { body: { template: `{{> ${inner.slug}}}!` } });
    expect((await renderNow())[0]).toBe('<dry>! (<warm>)');
    await it.ok('putPartLabel', outer.id, { params: { label: 'stable' }, body: { version: 2 } });
    expect(await renderNow()).toEqual([
      '<dry>! <warm>!',
      ...[...versions(inner.slug, 2), ...versions(outer.slug, 2)].toSorted(),
    ]);
    // Version 1 of the outer one still follows the newest of the inner one.
    const { rendered, parts } = await render(it, pinned.id, { variables: { tone: 'warm' } });
    expect(rendered).toBe('(<warm>)[warm]');
    expect(parts.map(({ slug, version }) => `${slug}@${version}`).toSorted()).toEqual(
      [...versions(inner.slug, 1, 2), ...versions(outer.slug, 1)].toSorted(),
    );
  });

  test('a change of a prompt, label or part is seen by another process within a second', async () => {
    const other = await startApi({ apiKeyPepper: it.api.config.apiKeyPepper });
    try {
      const part = await it.newPart({ template: 'one' });
      const { id } = await it.newPrompt({ template: `{{> ${part.slug}}}`, labels: ['live'] });
      const seen = async (body: object) => {
        const options = { params: { project_id: it.project.id, prompt_id: id }, key: it.project.key, body };
        return (await other.call<WireRendered>('renderPrompt', options)).body.rendered;
      };
      const changes: [body: object, before: string, after: string, change: () => Promise<unknown>][] = [
        [{}, 'one', 'two', () => it.ok('updatePart', part.id, { body: { template: 'two' } })],
        [{}, 'two', 'three', () => it.ok('updatePrompt', id, { body: { template: 'three' } })],
        [
          { label: 'live' },
          'two',
          'three',
          () => it.ok('putPromptLabel', id, { params: { label: 'live' }, body: { version: 2 } }),
        ],
      ];
      for (const [body, before, after, change] of changes) {
        expect(await seen(body)).toBe(before);
        await change();
        await until(`${after} elsewhere`, 1_000, async () => (await seen(body)) === after);
      }
    } finally {
      await other.close();
    }
  });

  test('liquid has filters and loops, in a part of another format too', async () => {
    const part = await it.newPart({
      template: '{% for i in items %}{{ i | upcase }};{% endfor %}',
      template_format: 'liquid',
    });
    const { id } = await it.newPrompt({ template: `{{> ${part.slug} items=list}}{{n}}` });
    const answer = await render(it, id, { variables: { list: ['a', 'b'], n: 1 } });
    expect(answer).toMatchObject({ rendered: 'A;B;1', parts: [{ slug: part.slug, version: 1 }] });
    const liquid = await it.newPrompt({ template: '{{ o }}{{ missing | default: "x" }}', template_format: 'liquid' });
    expect(await render(it, liquid.id, { variables: { o: { a: 1 } } })).toMatchObject({ rendered: '{"a":1}x' });
  });

  test('the cost is that of the model asked for, at own prices where there are some', async () => {
    const project = await newProject(it.api);
    const call = <T>(operationId: string, params: object, body: object) =>
      it.api.call<T>(operationId, { params: { project_id: project.id, ...params }, key: project.key, body });
    const created = await call<{ id: string }>(
      'createPrompt',
      {},
      { name: 'p', type: 'text', template: 'hello world' },
    );
    const renderWith = async (model: string) => {
      const answer = await call<object>('renderPrompt', { prompt_id: created.body.id }, { model });
      return answer.body;
    };
    expect(await renderWith('my-own')).toMatchObject({
      estimated_cost: null,
      tokens: { model: 'my-own', estimated: true },
    });
    await call(
      'putModelPrices',
      {},
      { prices: [{ model: 'my-own', input_per_million: '3', output_per_million: '9' }] },
    );
    await until('the own price', 5_000, async () => {
      const body = await renderWith('my-own');
      return 'estimated_cost' in body && body.estimated_cost === '0.000006';
    });
    expect(await renderWith('gpt-4o')).toMatchObject({
      estimated_cost: '0.000005',
      tokens: { count: 2, model: 'gpt-4o', estimated: false },
    });
  });

  test('a prompt over its model’s context window is warned of', async () => {
    const { id } = await it.newPrompt({ template: '{{long}}', config: { model: 'gpt-4' } });
    const { warnings } = await render(it, id, { variables: { long: 'word '.repeat(9_000) } });
    expect(warnings).toMatchObject([{ code: 'context_window_exceeded' }]);
  });

  test('extra variables are let be, also where they are refused but the schema has them', async () => {
    const { id } = await it.newPrompt({ template: 'x', input_schema: { properties: { tone: {} } } });
    const variables = { tone: 'dry' };
    expect(await render(it, id, { variables, on_extra: 'error' })).toMatchObject({ variables: { unused: ['tone'] } });
  });

  test('names of prototypes are names like others', async () => {
    const { id } = await it.newPrompt({ template: '{{constructor}}{{__proto__.x}}{{toString}}' });
    expect(await render(it, id, { on_missing: 'empty' })).toMatchObject({ rendered: '' });
    const variables = JSON.parse('{"constructor": "c", "toString": "t"}');
    expect(await render(it, id, { variables, on_missing: 'empty' })).toMatchObject({ rendered: 'ct' });
  });
});

describe('400', () => {
  test('an unknown field', async () => {
    const { id } = await it.newPrompt();
    expectProblem(await refusedRender(it, id, { vars: {} }), 400, 'unknown_field');
  });
});

describe('401 and 403', () => {
  test('no key, and one without the scope', async () => {
    const { id } = await it.newPrompt();
    expectProblem(await it.call('renderPrompt', id, { key: 'pl_x', body: {} }), 401, 'invalid_credentials');
    const { key } = await newKey(it.api, it.project.id, { scopes: ['prompts:write'] });
    expectProblem(await it.call('renderPrompt', id, { key, body: {} }), 403, 'insufficient_scope');
  });
});

describe('404', () => {
  test('no such prompt, version or label; a deleted prompt', async () => {
    const { id, slug } = await it.newPrompt();
    expectProblem(await refusedRender(it, newId('prm')), 404, 'prompt_not_found');
    expectProblem(await refusedRender(it, 'nothing'), 404, 'prompt_not_found');
    expectProblem(await refusedRender(it, id, { version: 2 }), 404, 'version_not_found');
    expectProblem(await refusedRender(it, id, { label: 'nowhere' }), 404, 'label_not_found');
    await render(it, slug, { variables: { who: 'x' } });
    await it.ok('deletePrompt', id);
    expectProblem(await refusedRender(it, slug), 404, 'prompt_not_found');
  });

  test('a prompt of another project', async () => {
    const { id } = await it.newPrompt();
    const stranger = await newProject(it.api);
    const answer = await it.api.call('renderPrompt', {
      params: { project_id: stranger.id, prompt_id: id },
      key: stranger.key,
      body: {},
    });
    expectProblem(answer, 404, 'prompt_not_found');
  });
});

describe('413', () => {
  test('a body over its cap', async () => {
    const { id } = await it.newPrompt();
    const answer = await refusedRender(it, id, { variables: { who: 'x'.repeat(1_100_000) } });
    expectProblem(answer, 413, 'body_too_large');
  });
});

describe('422', () => {
  test('missing variables are all named, those that the schema requires too', async () => {
    const template = '{{user.name}} {{b}} {{#maybe}}{{c}}{{/maybe}}';
    const { id } = await it.newPrompt({ template });
    const problem = expectProblem(await refusedRender(it, id, { variables: { b: null } }), 422, 'missing_variables');
    expect(problem).toMatchObject({
      missing: ['user.name', 'b'],
      errors: [{ path: 'variables.user.name' }, { path: 'variables.b' }],
    });
    const schema = { type: 'object', required: ['maybe', 'user'], properties: { user: { required: ['id'] } } };
    const strict = await it.newPrompt({ template, input_schema: schema });
    const refused = expectProblem(
      await refusedRender(it, strict.id, { variables: { user: {} } }),
      422,
      'missing_variables',
    );
    expect([...(refused.missing as string[])].toSorted()).toEqual(['b', 'maybe', 'user.id', 'user.name']);
    const empty = await refusedRender(it, strict.id, { variables: { user: {} }, on_missing: 'empty' });
    expect(expectProblem(empty, 422, 'invalid_variables').errors).toMatchObject([
      { path: 'variables.maybe', code: 'required' },
      { path: 'variables.user.id', code: 'required' },
    ]);
  });

  test('variables against the schema, with their paths', async () => {
    const input_schema = {
      properties: { n: { type: 'integer' }, list: { items: { enum: ['a'] } } },
      required: ['n', 'x'],
    };
    const { id } = await it.newPrompt({ template: '{{n}}', input_schema });
    const answer = await refusedRender(it, id, { variables: { n: 'x', list: ['a', 'b'] } });
    expect(
      expectProblem(answer, 422, 'invalid_variables')
        .errors?.map(({ path, code }) => `${path} ${code}`)
        .toSorted(),
    ).toEqual(['variables.list[1] enum', 'variables.n type', 'variables.x required']);
  });

  test('placeholders for which nothing is given are missing, at their own path', async () => {
    const messages = [{ placeholder: 'history' }, { role: 'user', content: '{{q}}' }];
    const chat = { type: 'chat', template: undefined, messages };
    const strict = { ...chat, input_schema: { required: ['q'] } };
    for (const { id } of [await it.newPrompt(chat), await it.newPrompt(strict)]) {
      expect(expectProblem(await refusedRender(it, id), 422, 'missing_variables')).toMatchObject({
        missing: ['q', 'placeholders.history'],
        errors: [{ path: 'variables.q' }, { path: 'placeholders.history', code: 'missing_variable' }],
      });
    }
  });

  test('extra variables and placeholders, where they are refused', async () => {
    const { id } = await it.newPrompt({ template: '{{a}}' });
    const body = { variables: { a: 1, b: 2 }, placeholders: { history: [] }, on_extra: 'error' };
    expect(expectProblem(await refusedRender(it, id, body), 422, 'invalid_variables').errors).toMatchObject([
      { path: 'variables.b', code: 'extra_variable' },
      { path: 'placeholders.history', code: 'extra_variable' },
    ]);
  });

  test('an unknown part, once the render reaches it', async () => {
    const { id } = await it.newPrompt({ template: 'a{{> not-yet}}' });
    expectProblem(await refusedRender(it, id), 422, 'unknown_part');
    const warning = { code: 'unknown_part', message: 'The part `not-yet` does not exist', path: 'template' };
    expect(await render(it, id, { on_missing: 'empty' })).toMatchObject({
      rendered: 'a',
      parts: [],
      warnings: [warning],
    });
    await it.newPart({ slug: 'not-yet', template: 'b' });
    expect(await render(it, id)).toMatchObject({ rendered: 'ab', warnings: [] });
  });

  test('version and label at once, a version that is none, messages that are none', async () => {
    const { id } = await it.newPrompt();
    for (const body of [
      { version: 1, label: 'production' },
      { version: 0 },
      { version: '1' },
      { variables: [] },
      { placeholders: { history: [{ content: 'x' }] } },
      { on_missing: 'guess' },
    ]) {
      expectProblem(await refusedRender(it, id, body), 422, 'invalid_body');
    }
  });

  test('messages that are too large, as often as their placeholder is used', async () => {
    const messages = Array.from({ length: 200 }, () => ({ placeholder: 'history' }));
    const { id } = await it.newPrompt({ type: 'chat', template: undefined, messages });
    const history = [{ role: 'user', content: 'x'.repeat(1_000_000) }];
    const problem = expectProblem(await refusedRender(it, id, { placeholders: { history } }), 422, 'template_limit');
    expect(problem).toMatchObject({ budget: 'output', detail: expect.stringContaining('at most 1048576 characters') });
  });

  test('a message without a role, and content that is none', async () => {
    const { id } = await it.newPrompt();
    const faultOf = async (message: object) =>
      (await it.call<Problem>('renderPrompt', id, { body: { placeholders: { a: [message] } } })).body.errors?.[0];
    expect(await faultOf({ content: 'x' })).toMatchObject({ path: 'placeholders.a[0].role', code: 'required' });
    expect(await faultOf({ role: 'user', content: 5 })).toMatchObject({
      ...{ path: 'placeholders.a[0].content', code: 'invalid_type', message: expect.stringContaining('given 5') },
    });
  });

  test.each([
    ['numbers as messages', { placeholders: { a: Array(150_000).fill(0) } }, 'placeholders.a'],
    [
      'more messages than one placeholder may have',
      { placeholders: { a: Array(10_001).fill({ role: 'user' }) } },
      'placeholders.a',
    ],
    [
      'numbers as parts',
      { placeholders: { a: [{ role: 'user', content: Array(120_000).fill(0) }] } },
      'placeholders.a',
    ],
    [
      'numbers for very many placeholders',
      { placeholders: Object.fromEntries(Array.from({ length: 26_000 }, (_, at) => [(at + 1_296).toString(36), [1]])) },
      'placeholders',
    ],
    [
      'numbers for as many placeholders as a request may name',
      { placeholders: Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`p${at}`, [1]])) },
      'placeholders.p0',
    ],
    ['messages below a long name', { placeholders: { ['K'.repeat(900_000)]: Array(50).fill({}) } }, 'placeholders['],
  ])('%s are refused at once, in few words', async (_what, body, path) => {
    const { id } = await it.newPrompt();
    const loop = watchLoop();
    const answer = await it.call<Problem>('renderPrompt', id, { body });
    const longestMs = loop.stop();
    expectProblem(answer, 422, 'invalid_body');
    expect(answer.body.errors?.[0]?.path.startsWith(path)).toBe(true);
    expect(answer.text.length).toBeLessThan(20_000);
    expect(longestMs).toBeLessThan(150);
  });
});
