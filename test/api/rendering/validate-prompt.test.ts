import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { newId } from '../../../src/lib/ids.ts';
import { expectProblem, newKey, newProject } from '../../support/api.ts';
import { watchLoop } from '../../support/loop-delay.ts';
import { usePromptApi, type WireItem } from '../../support/prompt-api.ts';
import { refusedRender, render, validate, type WireRendered, type WireValidated } from '../../support/rendering.ts';

// A template thread takes long to start on a busy machine.
vi.setConfig({ testTimeout: 60_000 });
const it = usePromptApi();

/** A copy of the variables without one of them, or without a field of one. */
function without(complete: Record<string, unknown>, path: string): Record<string, unknown> {
  const [first = '', second] = path.split('.');
  const { [first]: value, ...others } = complete;
  if (second === undefined || typeof value !== 'object' || value === null) return others;
  return { ...others, [first]: Object.fromEntries(Object.entries(value).filter(([key]) => key !== second)) };
}

describe('200', () => {
  test('a good draft: its variables with their places, its parts and its tokens', async () => {
    const part = await it.newPart({ template: '{{sender}}' });
    const draft = { type: 'text', template: `Hi {{user.name}},\n  {{#vip}}{{gift}}{{/vip}}\n{{> ${part.slug}}}` };
    const tag = `{{> ${part.slug}}}`.length;
    expect(await validate(it, draft)).toEqual({
      valid: true,
      errors: [],
      warnings: [],
      variables: [
        {
          name: 'user',
          path: 'user.name',
          required: true,
          occurrences: [{ path: 'template', line: 1, column: 4, length: 13 }],
        },
        {
          name: 'vip',
          path: 'vip',
          required: false,
          occurrences: [{ path: 'template', line: 2, column: 3, length: 8 }],
        },
        {
          name: 'gift',
          path: 'gift',
          required: false,
          occurrences: [{ path: 'template', line: 2, column: 11, length: 8 }],
        },
        {
          name: 'sender',
          path: 'sender',
          required: true,
          occurrences: [{ path: 'template', line: 3, column: 1, length: tag, note: `in the part \`${part.slug}\`` }],
        },
      ],
      placeholders: [],
      parts: [{ slug: part.slug, ref: part.slug, status: 'ok', version: 1 }],
      tokens: { count: expect.any(Number), model: null, estimated: true },
    });
  });

  test('a draft that does not parse says where, in which message, and what may have been meant', async () => {
    const messages = [
      { role: 'system', content: 'fine' },
      { placeholder: 'history' },
      { role: 'user', content: 'one\n 😀 {{#open}} x' },
    ];
    const report = await validate(it, { type: 'chat', messages });
    expect(report).toMatchObject({ valid: false, variables: [], parts: [] });
    const at = { path: 'messages[2].content', message_index: 2, line: 2, column: 5, length: 9 };
    expect(report.errors).toMatchObject([{ code: 'unclosed_section', severity: 'error', ...at }]);
    const filter = await validate(it, { template: '\n{{ a | upcse }}', template_format: 'liquid' });
    expect(filter.errors).toMatchObject([{ code: 'unknown_filter', path: 'template', line: 2, suggestion: 'upcase' }]);
  });

  test('an unknown part has a suggestion, and the message whose tag it is', async () => {
    const part = await it.newPart({ slug: 'signature' });
    const content = '{{> singature}}';
    const report = await validate(it, {
      messages: [
        { role: 'user', content: `{{> ${part.slug} tone="x"}}` },
        { role: 'user', content },
      ],
    });
    expect(report.errors).toMatchObject([
      { code: 'unknown_part', message_index: 1, line: 1, column: 1, length: content.length, suggestion: 'signature' },
    ]);
    expect(report.parts).toMatchObject([
      { slug: 'signature', status: 'ok', version: 1 },
      { slug: 'singature', ref: 'singature', status: 'unknown' },
    ]);
  });

  test('in a project of very many parts, an unknown one is compared with those next to it', async () => {
    const { id, key } = await newProject(it.api);
    const slugs = ['signature', ...Array.from({ length: 300 }, (_, at) => `t-${1_000 + at}`)];
    await it.api
      .postgres('parts')
      .insert(slugs.map((slug) => ({ id: newId('prt'), project_id: id, slug, name: slug, latest_version: 1 })));
    const suggestionFor = async (slug: string) => {
      const options = { params: { project_id: id }, key, body: { template: `{{> ${slug}}}` } };
      return (await it.ok<WireValidated>('validatePrompt', '', options)).errors[0]?.suggestion;
    };
    expect(await suggestionFor('signatura')).toBe('signature');
    expect(await suggestionFor('t-10.1')).toBe('t-1001');
    expect(await suggestionFor('zignature')).toBeUndefined();
  });

  test('a draft of a part that would include itself shows the cycle, saved or not yet', async () => {
    const { slug } = await it.newPart({ slug: 'a', template: 'x' });
    await it.newPart({ slug: 'b', template: '{{> a}} {{> later}}' });
    for (const [part_slug, path] of [
      [slug, 'a > b > a'],
      ['later', 'later > b > later'],
    ]) {
      const report = await validate(it, { template: ' {{> b}}', part_slug });
      expect(report.errors.filter(({ code }) => code === 'part_cycle')).toMatchObject([
        { line: 1, column: 2, message: expect.stringContaining(path ?? '') },
      ]);
      expect(report).toMatchObject({
        valid: false,
        parts: expect.arrayContaining([expect.objectContaining({ status: 'cycle' })]),
      });
    }
    // As a draft of a prompt it is none.
    expect((await validate(it, { template: ' {{> a}}' })).valid).toBe(true);
  });

  test('a draft of a part shows the cycle also through `@latest`, and through the number that its version will have', async () => {
    const { slug } = await it.newPart({ slug: 'cyclic', template: 'x' });
    const { slug: other } = await it.newPart({ template: `{{> ${slug}@latest}}` });
    for (const ref of [`${slug}@latest`, `${slug}@2`, other]) {
      const { errors } = await validate(it, { template: `{{> ${ref}}}`, part_slug: slug });
      expect(errors.map(({ code }) => code)).toEqual(['part_cycle']);
      const body = { template: `{{> ${ref}}}` };
      expectProblem(await it.call('updatePart', slug, { body }), 422, 'part_cycle');
    }
    expect((await validate(it, { template: `{{> ${slug}@1}}`, part_slug: slug })).valid).toBe(true);
  });

  test('lints: undeclared and unused variables, secrets, variables in a system message, arguments of parts', async () => {
    const part = await it.newPart({ template: '{{ needed }}', template_format: 'liquid' });
    const report = await validate(it, {
      messages: [
        { role: 'system', content: 'Be {{tone}}' },
        { role: 'user', content: `{{qestion}}{{> ${part.slug}}} sk-proj-${'a1B2'.repeat(8)}` },
      ],
      input_schema: { properties: { question: {}, tone: {} } },
    });
    expect(report.valid).toBe(true);
    const said = report.warnings.map(({ code, path, column, suggestion }) => [code, path, column, suggestion]);
    const user = 'messages[1].content';
    expect(said).toEqual(
      expect.arrayContaining([
        ['undeclared_variable', user, 1, 'question'],
        ['unused_variable', 'input_schema.properties.question', 1, undefined],
        ['variable_in_system_message', 'messages[0].content', 4, undefined],
        ['missing_argument', user, 12, undefined],
        ['secret_literal', user, 12 + `{{> ${part.slug}}} `.length, undefined],
      ]),
    );
    expect(said).toHaveLength(5);
  });

  test('a context window that is too small is warned of', async () => {
    const config = { provider: 'openai', model: 'gpt-4' };
    const report = await validate(it, { template: 'word '.repeat(9_000), config });
    expect(report).toMatchObject({ valid: true, warnings: [{ code: 'context_window_exceeded' }] });
    expect(report.tokens).toEqual({ count: 9_001, model: 'gpt-4', estimated: false });
  });

  test('an input schema that is none, and one that the given variables do not match', async () => {
    const none = await validate(it, { template: '{{a}}', input_schema: { type: 'strng' } });
    expect(none).toMatchObject({ valid: false, errors: [{ code: 'invalid_input_schema', path: 'input_schema' }] });
    expect(none.variables).toMatchObject([{ path: 'a', required: true }]);
    const draft = { template: '{{a}} {{b}}', input_schema: { properties: { a: { type: 'integer' }, b: {} } } };
    const tried = await validate(it, { ...draft, variables: { a: 'x', b: 1 } });
    expect(tried).toMatchObject({ valid: false, errors: [{ code: 'type', path: 'variables.a' }] });
    const missing = await validate(it, { ...draft, variables: { a: 1 } });
    expect(missing).toMatchObject({ valid: false, errors: [{ code: 'missing_variable', path: 'variables.b' }] });
    expect(await validate(it, { ...draft, variables: { a: 1, b: 2 } })).toMatchObject({ valid: true, errors: [] });
  });

  test('compared with a saved version: what is added, gone, newly required, and whether that breaks callers', async () => {
    const { id } = await it.newPrompt({ template: '{{a}}{{#maybe}}x{{/maybe}}', labels: ['production'] });
    await it.ok('updatePrompt', id, { body: { template: 'nothing' } });
    const compare = async (draft: object, to: object = { label: 'production' }) =>
      (await validate(it, { ...draft, compare_to: { prompt_id: id, ...to } })).compatibility;
    const same = {
      breaking: false,
      added_variables: [],
      removed_variables: [],
      newly_required: [],
      refused_variables: [],
      type_changed: false,
    };
    expect(await compare({ template: '{{#maybe}}{{a}}{{/maybe}} {{a}}' })).toEqual(same);
    expect(await compare({ template: 'x' })).toEqual({ ...same, removed_variables: ['a', 'maybe'] });
    expect(await compare({ template: '{{a}}{{#b}}{{/b}}{{#maybe}}{{/maybe}}' })).toEqual({
      ...same,
      added_variables: ['b'],
    });
    expect(await compare({ template: '{{a}}{{maybe}}{{b}}' })).toEqual({
      ...same,
      breaking: true,
      added_variables: ['b'],
      newly_required: ['maybe', 'b'],
    });
    const schema = { required: ['c'], properties: { c: {}, d: { default: 1 } } };
    expect(await compare({ template: '{{d}}', input_schema: schema }, { version: 2 })).toEqual({
      ...same,
      breaking: true,
      added_variables: ['d', 'c'],
      newly_required: ['c'],
    });
    expect(await compare({ messages: [{ placeholder: 'h' }] }, {})).toEqual({
      ...same,
      breaking: true,
      newly_required: ['placeholders.h'],
      type_changed: true,
    });
  });

  test('a draft whose schema refuses what callers give breaks them', async () => {
    const properties = { a: { type: ['string', 'null'] }, n: { type: 'integer' }, free: {} };
    const { id } = await it.newPrompt({ template: '{{a}}{{n}}{{x.y}}', input_schema: { properties } });
    const compare = async (schema: object | null) => {
      const draft = { template: '{{a}}{{n}}{{x.y}}', input_schema: schema, compare_to: { prompt_id: id } };
      return (await validate(it, draft)).compatibility;
    };
    const wider = { properties: { a: {}, n: { type: 'number' }, free: { type: 'string' } } };
    for (const schema of [null, wider]) {
      expect(await compare(schema)).toMatchObject({ breaking: false, refused_variables: [] });
    }
    const narrower = { properties: { a: { type: 'string' }, n: { type: 'string' } } };
    expect(await compare(narrower)).toMatchObject({ breaking: true, refused_variables: ['a', 'n'] });
    const closed = { properties, additionalProperties: false };
    expect(await compare(closed)).toMatchObject({ breaking: true, refused_variables: ['x'] });
  });

  test('nothing is stored', async () => {
    const { page, data } = await it.ok<{ data: WireItem[]; page: object }>('listPrompts');
    await validate(it, { template: 'x' });
    expect(await it.ok('listPrompts')).toEqual({ page, data });
  });

  test('the variables reported as required are those whose absence makes a render fail', async () => {
    const shared = await it.newPart({ template: '{{x}}{{#c}}{{e}}{{/c}}' });
    const complete: Record<string, unknown> = { a: { b: 'B', d: 'D' }, c: 'C', e: true, f: [1, 2], g: 'G' };
    const paths = ['a', 'a.b', 'a.d', 'c', 'e', 'f', 'g'];
    const piece = fc.oneof(
      fc.constantFrom(...paths.slice(1)).map((path) => `{{${path}}}`),
      fc.constantFrom('{{#c}}{{a.b}}{{/c}}', '{{^e}}{{g}}{{/e}}', '{{#f}}{{.}}{{g}}{{/f}}', '{{#a}}{{b}}{{/a}}'),
      fc.constantFrom(`{{> ${shared.slug}}}`, `{{> ${shared.slug} x=a.d}}`, `{{> ${shared.slug} x="lit" c=g}}`),
    );
    const schema = fc.option(
      fc.record({
        required: fc.subarray(['c', 'f', 'g']),
        properties: fc.constantFrom(
          ...[{}, { c: { default: 'dflt' } }, { a: { required: ['d'] }, g: { type: 'string' } }],
          ...[{ a: { $ref: '#/$defs/a' } }, { a: { $ref: '#/$defs/a', default: {} } }],
        ),
        $defs: fc.constant({ a: { properties: { b: { default: 'dflt' }, d: { allOf: [{ type: 'string' }] } } } }),
        allOf: fc.constantFrom([{}], [{ required: ['g'], properties: { e: { default: true } } }]),
      }),
      { nil: null },
    );
    const content = fc.array(piece, { minLength: 1, maxLength: 5 }).map((pieces) => pieces.join(' '));
    await fc.assert(
      fc.asyncProperty(fc.array(content, { minLength: 1, maxLength: 3 }), schema, async (contents, input_schema) => {
        const messages = contents.map((each) => ({ role: 'user', content: each }));
        const { id } = await it.newPrompt({ type: 'chat', template: undefined, messages, input_schema });
        const { variables, valid } = await validate(it, { messages, input_schema, variables: { ...complete, x: 1 } });
        expect(valid).toBe(true);
        const required = variables.filter((each) => each.required);
        // Without an object there are none of the fields that a template needs; what only its
        // schema requires, it then does not.
        const inserted = required.filter(({ occurrences }) => occurrences.length > 0);
        for (const path of [...paths, 'x']) {
          const isRequired =
            required.some((each) => each.path === path) || inserted.some((each) => each.path.startsWith(`${path}.`));
          const { status } = await refusedRender(it, id, { variables: without({ ...complete, x: 1 }, path) });
          expect([path, status]).toEqual([path, isRequired ? 422 : 200]);
        }
      }),
      { numRuns: 50 },
    );
  });

  test('in liquid too, the variables reported as required are those whose absence makes a render fail', async () => {
    const shared = await it.newPart({ template: '{{ x }}{{ y | default: "z" }}', template_format: 'liquid' });
    const complete: Record<string, unknown> = { a: { b: 'B', d: 'D' }, c: 'C', e: true, f: [1, 2], g: 'G', x: 1 };
    const piece = fc.constantFrom(
      ...['{{ a.b }}', '{{ c | upcase }}', '{{ g | default: "x" }}', '{{ f | join: c }}', '{{ f.size }}'],
      ...['{% if c %}{{ a.b }}{% endif %}', '{% unless e %}{{ g }}{% endunless %}', '{% assign z = a.d %}{{ z }}'],
      ...['{% for i in f %}{{ i }}{{ g }}{% endfor %}', '{% capture z %}{{ c }}{% endcapture %}{{ z }}', '{{ f[0] }}'],
      ...[`{% render '${shared.slug}', x: a.d %}`, `{% render '${shared.slug}', x: 'lit', y: g %}`, '{% echo x %}'],
      ...['{% case c %}{% when "C" %}{{ g }}{% else %}{{ a.b }}{% endcase %}', '{% raw %}{{ x }}{% endraw %}'],
    );
    const template = fc.array(piece, { minLength: 1, maxLength: 5 }).map((pieces) => pieces.join(' '));
    await fc.assert(
      fc.asyncProperty(template, async (text) => {
        const draft = { template: text, template_format: 'liquid' };
        const { id } = await it.newPrompt(draft);
        const { variables, valid } = await validate(it, { ...draft, variables: complete });
        expect(valid).toBe(true);
        const required = variables.filter((each) => each.required).map(({ path }) => path);
        for (const path of ['a', 'a.b', 'a.d', 'c', 'e', 'f', 'g', 'x']) {
          // Without an object there are none of its fields.
          const isRequired = required.some((each) => each === path || each.startsWith(`${path}.`));
          const { status } = await refusedRender(it, id, { variables: without(complete, path) });
          expect([text, path, status]).toEqual([text, path, isRequired ? 422 : 200]);
        }
      }),
      { numRuns: 25 },
    );
  });

  test('what it makes of tokens is what a render of the saved draft has', async () => {
    const draft = { template: 'Dear {{who}}, welcome.', config: { model: 'gpt-4o' } };
    const { id } = await it.newPrompt(draft);
    const variables = { who: 'Ada Lovelace' };
    const report = await validate(it, { ...draft, variables });
    expect(report.tokens).toEqual((await render(it, id, { variables })).tokens);
    expect((await validate(it, draft)).tokens.estimated).toBe(true);
  });
});

describe('200, with long keys', () => {
  const longKey = 'K'.repeat(60_000);

  test('faults below a key of a million characters have short paths, and other requests are answered', async () => {
    const input_schema = { additionalProperties: { additionalProperties: { type: 'string' } } };
    const below = Object.fromEntries(Array.from({ length: 1_900 }, (_, at) => [`a${at}`, at]));
    const loop = watchLoop();
    const checked = await it.api.call('validatePrompt', {
      params: { project_id: it.project.id },
      key: it.project.key,
      body: { type: 'text', template: 'x', input_schema, variables: { ['/'.repeat(900_000)]: below } },
    });
    const longestMs = loop.stop();
    expect([200, 422]).toContain(checked.status);
    expect(checked.text.length).toBeLessThan(200_000);
    expect(longestMs).toBeLessThan(150);
  });

  test('names that the schema requires below a name that no template can use are not variables', async () => {
    const required = Array.from({ length: 1_000 }, (_, at) => `a${at}`);
    const input_schema = { properties: { [longKey.slice(0, 50_000)]: { required }, short: { required: ['a'] } } };
    const { variables } = await validate(it, { type: 'text', template: 'x', input_schema });
    expect(variables.map(({ path }) => path)).toEqual(['short.a']);
  });

  test('what defaults fill in below a long key is named up to a bound', async () => {
    const defaults = Object.fromEntries(Array.from({ length: 90 }, (_, at) => [`a${at}`, { default: 0 }]));
    const input_schema = { additionalProperties: { properties: defaults } };
    const { id } = await it.newPrompt({ template: 'x', input_schema });
    const { text, body } = await it.call<WireRendered>('renderPrompt', id, { body: { variables: { [longKey]: {} } } });
    expect(body.variables.defaulted).toEqual([`${longKey}.a0`]);
    expect(text.length).toBeLessThan(200_000);
  });
});

describe('400', () => {
  test('an unknown field', async () => {
    expectProblem(await it.call('validatePrompt', '', { body: { template: 'x', more: 1 } }), 400, 'unknown_field');
  });
});

describe('401 and 403', () => {
  test('no key, and one without the scope', async () => {
    const body = { template: 'x' };
    expectProblem(await it.call('validatePrompt', '', { key: 'pl_x', body }), 401, 'invalid_credentials');
    const { key } = await newKey(it.api, it.project.id, { scopes: ['prompts:write'] });
    expectProblem(await it.call('validatePrompt', '', { key, body }), 403, 'insufficient_scope');
  });
});

describe('404', () => {
  test('what it is to be compared with does not exist', async () => {
    const { id } = await it.newPrompt();
    const compared = (compare_to: object) => it.call('validatePrompt', '', { body: { template: 'x', compare_to } });
    expectProblem(await compared({ prompt_id: 'nothing' }), 404, 'prompt_not_found');
    expectProblem(await compared({ prompt_id: id, version: 9 }), 404, 'version_not_found');
    expectProblem(await compared({ prompt_id: id, label: 'nowhere' }), 404, 'label_not_found');
  });
});

describe('422', () => {
  test('a request of the wrong shape', async () => {
    for (const body of [
      {},
      { type: 'chat', template: 'x' },
      { template: 'x', messages: [] },
      { messages: [{ role: 'king', content: 'x' }] },
      { template: 1 },
      { template: 'x', compare_to: { prompt_id: 'a', version: 1, label: 'b' } },
    ]) {
      expectProblem(await it.call('validatePrompt', '', { body }), 422, 'invalid_body');
    }
  });
});
