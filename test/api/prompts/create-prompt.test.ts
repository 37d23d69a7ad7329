import { hash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { findKnownPrompts } from '../../../src/domains/prompt-links/index.ts';
import { newId } from '../../../src/lib/ids.ts';
import { templateKey } from '../../../src/lib/template-hash.ts';
import { expectProblem } from '../../support/api.ts';
import { usePromptApi, type WireItem } from '../../support/prompt-api.ts';

const it = usePromptApi();
const create = (body: unknown, options = {}) => it.call<WireItem>('createPrompt', '', { body, ...options });
const text = { name: 'Greeting', type: 'text', template: 'Hi {{who}}' };

describe('201', () => {
  test.each([
    ['mustache', '{{> tone@1}} {{> tone@01}}'],
    ['liquid', "{% render 'tone@1' %} {% render 'tone@01' %}"],
  ])('a %s template may name one version of a part in two spellings', async (template_format, template) => {
    const answer = await create({ ...text, slug: `spellings-${template_format}`, template_format, template });
    expect(answer.status, answer.text).toBe(201);
  });

  test('a text prompt is answered with its version 1 and what links a span to it', async () => {
    const body = {
      ...text,
      slug: 'greeting-full',
      description: 'Says hi',
      tags: ['a', 'b', 'a'],
      config: { model: 'gpt-5', params: { temperature: 0.5 } },
      input_schema: { type: 'object', properties: { who: { type: 'string' } } },
      labels: ['production'],
      commit_message: 'first',
    };
    const answer = await create(body);
    expect(answer.status, answer.text).toBe(201);
    const { id, created_at, updated_at, all_labels, ...rest } = answer.body;
    expect(id).toMatch(/^prm_/);
    expect(rest).toMatchObject({
      ...body,
      tags: ['a', 'b'],
      version: 1,
      latest_version: 1,
      kind: 'create',
      parent_version: null,
      rolled_back_from: null,
      template_format: 'mustache',
      author: { type: 'api_key', id: expect.stringMatching(/^key_/) },
      otel_attributes: {
        'gen_ai.prompt.name': 'greeting-full',
        'gen_ai.prompt.version': '1',
        'promptlane.prompt.id': id,
      },
    });
    expect(all_labels).toEqual([expect.objectContaining({ label: 'production', version: 1 })]);
    expect(answer.headers.get('etag')).toMatch(/^"[^"]+"$/);
    expect(updated_at >= created_at).toBe(true);
  });

  test('a chat prompt keeps its messages and placeholders in order', async () => {
    const messages = [
      { role: 'system', content: 'Be kind' },
      { placeholder: 'history' },
      { role: 'user', content: '{{q}}' },
    ];
    expect((await it.newPrompt({ type: 'chat', template: undefined, messages })).messages).toEqual(messages);
  });

  test('the order of keys in config and schema is kept', async () => {
    const config = { zebra: 1, apple: { longer: 1, b: 2 }, m: [1.5, null, true] };
    const prompt = await it.newPrompt({ config });
    expect(JSON.stringify(prompt.config)).toBe(JSON.stringify(config));
  });

  test.each([
    ['Grüße an Łódź', 'grusse-an-lodz'],
    ['  A -- b_c  ', 'a-b-c'],
    ['日本', `prompt-${hash('sha256', '日本').slice(0, 8)}`],
    ['Export', 'export-prompt'],
  ])('without a slug, %j is called %s', async (name, slug) => {
    expect((await it.newPrompt({ name })).slug).toBe(slug);
  });

  test('of many prompts with one name, made at once, each gets a slug of its own', async () => {
    const made = await Promise.all(Array.from({ length: 8 }, () => it.newPrompt({ name: 'Twin' })));
    expect(new Set(made.map(({ slug }) => slug)).size).toBe(8);
    expect(made.map(({ slug }) => slug)).toContain('twin');
    expect(made.map(({ slug }) => slug)).toContain('twin-2');
  });

  test('the same Idempotency-Key makes one prompt', async () => {
    const headers = { 'Idempotency-Key': newId('evt') };
    const [first, second] = [await create(text, { headers }), await create(text, { headers })];
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect(second.body.id).toBe(first.body.id);
  });

  test('after a hundred thousand prompts of the same name, one more gets the next slug', async () => {
    const { id } = await it.newPrompt({ name: 'plenty' });
    const row = await it.api.postgres('prompts').where({ id }).first();
    const columns = Object.keys(row)
      .filter((name) => !['id', 'slug', 'search'].includes(name))
      .join(', ');
    // In steps, each of which a slow machine ends within the time that a statement has.
    for (let from = 2; from <= 130_000; from += 10_000) {
      await it.api.postgres.raw(
        `insert into prompts (id, slug, ${columns})
         select 'prm_of_' || id || n, 'plenty-' || n, ${columns} from prompts, generate_series(:from::int, :to::int) as n where id = :id`,
        { id, from, to: Math.min(from + 9_999, 130_000) },
      );
    }
    expect((await it.newPrompt({ name: 'plenty' })).slug).toBe('plenty-130001');
  });

  test('spans that name its slug, name or text will find it', async () => {
    const { id, slug } = await it.newPrompt({ name: 'Called so', template: 'Exactly this {{x}}' });
    const mentions = [slug, 'Called so', templateKey('Exactly this {{x}}')];
    const known = await findKnownPrompts(it.api.postgres, it.project.id, mentions);
    expect(mentions.map((each) => known.get(each)?.id)).toEqual([id, id, id]);
  });

  test('the audit log has who made it', async () => {
    const { id } = await it.newPrompt();
    const row = await it.api.postgres('audit_log').where({ target_id: id }).first();
    expect(row).toMatchObject({ action: 'prompt.created', actor_type: 'api_key', project_id: it.project.id });
  });
});

describe('201, with very many references', () => {
  test('a chat with more part references than one statement has bindings for keeps every one of them', async () => {
    const references = Array.from({ length: 12_000 }, (_, index) => `{{> p${index}}}`);
    const messages = [0, 4_000, 8_000].map((from) => ({
      role: 'user',
      content: references.slice(from, from + 4_000).join(''),
    }));
    const answer = await create({ name: 'Of many parts', type: 'chat', messages });
    expect(answer.status, answer.text.slice(0, 500)).toBe(201);
    const stored = await it.api.postgres('part_uses').where({ project_id: it.project.id, user_id: answer.body.id });
    expect(stored).toHaveLength(12_000);
  });
});

describe('400', () => {
  test('an unknown field is refused', async () => {
    expectProblem(await create({ ...text, templates: 'x' }), 400, 'unknown_field');
  });
});

describe('401', () => {
  test('without credentials they are asked for', async () => {
    expectProblem(await create(text, { key: undefined }), 401, 'credentials_required');
  });
});

describe('409', () => {
  test('a slug of another prompt is taken, and free again once that one is deleted', async () => {
    const { id } = await it.newPrompt({ slug: 'once' });
    expectProblem(await create({ ...text, slug: 'once' }), 409, 'slug_taken');
    await it.ok('deletePrompt', id);
    expect((await create({ ...text, slug: 'once' })).status).toBe(201);
  });
});

describe('422', () => {
  test('a config over 256 KiB as JSON is refused with the limit, and one of 256 KiB is not', async () => {
    const ofBytes = (bytes: number) => ({ description: '€'.repeat(100).padEnd(bytes - 218, 'x') });
    const problem = expectProblem(await create({ ...text, config: ofBytes(262_145) }), 422, 'invalid_body');
    expect(problem.errors).toMatchObject([{ path: 'config', message: 'must have at most 262144 bytes as JSON' }]);
    expect((await create({ ...text, config: ofBytes(262_144) })).status).toBe(201);
  });

  test.each([
    [{ ...text, name: ' ' }, 'name'],
    [{ ...text, name: 'x'.repeat(201) }, 'name'],
    [{ ...text, slug: 'Upper' }, 'slug'],
    [{ ...text, slug: 'export' }, 'slug'],
    [{ ...text, slug: newId('prm') }, 'slug'],
    [{ ...text, slug: 'x'.repeat(101) }, 'slug'],
    [{ ...text, type: 'image' }, 'type'],
    [{ ...text, template: undefined }, 'template'],
    [{ ...text, messages: [{ role: 'user', content: 'x' }] }, 'messages'],
    [{ name: 'x', type: 'chat' }, 'messages'],
    [{ name: 'x', type: 'chat', messages: [] }, 'messages'],
    [{ name: 'x', type: 'chat', messages: [{ role: 'king', content: 'x' }] }, 'messages[0].role'],
    [{ ...text, labels: ['latest'] }, 'labels[0]'],
    [{ ...text, labels: ['9'] }, 'labels[0]'],
    [{ ...text, config: [] }, 'config'],
    [{ ...text, template: 'a\u0000b' }, 'template'],
    [{ ...text, template: 'a\ud800b' }, 'template'],
  ])('the body %j is refused, naming the field', async (body, path) => {
    const problem = expectProblem(await create(body), 422, 'invalid_body');
    expect(problem.errors).toContainEqual(expect.objectContaining({ path }));
  });

  test('a template that does not parse is refused with where', async () => {
    const problem = expectProblem(await create({ ...text, template: 'one\n{{#two}} three' }), 422, 'invalid_template');
    expect(problem.errors).toEqual([expect.objectContaining({ path: 'template', line: 2, column: 1 })]);
  });

  test('an input schema that does not compile is refused', async () => {
    expectProblem(await create({ ...text, input_schema: { type: 'nothing' } }), 422, 'invalid_input_schema');
  });

  test('a template over its limit is refused', async () => {
    expectProblem(await create({ ...text, template: 'x'.repeat(262_145) }), 422, 'template_limit');
  });
});
