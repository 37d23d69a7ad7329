import { describe, expect, test } from 'vitest';
import { newId } from '../../../src/lib/ids.ts';
import { expectProblem } from '../../support/api.ts';
import { usePromptApi, type WireItem, type WirePage } from '../../support/prompt-api.ts';

const it = usePromptApi();
const update = (called: string, body: unknown, options = {}) =>
  it.call<WireItem>('updatePrompt', called, { body, ...options });
const versionsOf = (called: string, query = {}) =>
  it.ok<WirePage<WireItem>>('listPromptVersions', called, { query: { limit: 100, ...query } });

describe('200', () => {
  test('changed content is a new version, with the one before as its parent', async () => {
    const { slug, content_hash } = await it.newPrompt();
    const { status, body } = await update(slug, { template: 'Bye {{who}}', commit_message: 'leave' });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      created_version: true,
      version: 2,
      latest_version: 2,
      kind: 'update',
      parent_version: 1,
      template: 'Bye {{who}}',
      commit_message: 'leave',
    });
    expect(body.content_hash).not.toBe(content_hash);
  });

  test('the same content, its keys in another order, is no version and changes nothing', async () => {
    const { id, updated_at } = await it.newPrompt({ config: { a: 1, b: { c: 2, d: 3 } } });
    const { body } = await update(id, { template: 'Hi {{who}}', config: { b: { d: 3, c: 2 }, a: 1 } });
    expect(body).toMatchObject({ created_version: false, version: 1, updated_at });
  });

  test('metadata alone is no version; what is absent stays and null clears', async () => {
    const { id } = await it.newPrompt({ description: 'old', tags: ['t'], config: { a: 1 }, slug: 'renamed-before' });
    const renamed = await update(id, { name: 'New', slug: 'renamed-after' });
    expect(renamed.body).toMatchObject({
      created_version: false,
      version: 1,
      name: 'New',
      slug: 'renamed-after',
      description: 'old',
      tags: ['t'],
      config: { a: 1 },
    });
    const cleared = await update(id, { description: null, tags: null, config: null });
    expect(cleared.body).toMatchObject({
      created_version: true,
      description: null,
      tags: [],
      config: null,
      name: 'New',
    });
  });

  test('labels go to the version that is the newest afterwards', async () => {
    const { id } = await it.newPrompt({ labels: ['staging', 'production'] });
    const { body } = await update(id, { template: 'x', labels: ['staging'] });
    expect(body.labels).toEqual(['staging']);
    expect(body.all_labels).toEqual([
      expect.objectContaining({ label: 'production', version: 1 }),
      expect.objectContaining({ label: 'staging', version: 2 }),
    ]);
    const again = await update(id, { labels: ['production'] });
    expect(again.body).toMatchObject({ created_version: false, labels: ['production', 'staging'] });
  });

  test('50 updates at once give 50 versions without a gap, each answered with its own', async () => {
    const { id } = await it.newPrompt();
    const answers = await Promise.all(Array.from({ length: 50 }, (_, index) => update(id, { template: `v${index}` })));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 50 }, () => 200));
    const numbers = answers.map(({ body }) => body.version).sort((a, b) => a - b);
    expect(numbers).toEqual(Array.from({ length: 50 }, (_, index) => index + 2));
    const { data } = await versionsOf(id);
    expect(data.map(({ version }) => version)).toEqual(Array.from({ length: 51 }, (_, index) => 51 - index));
    for (const { body } of answers) {
      expect(data.find(({ version }) => version === body.version)?.template).toBe(body.template);
    }
  });

  test('updates of the template and of the config at once are each in the versions that follow', async () => {
    const { id } = await it.newPrompt();
    const bodies = Array.from({ length: 10 }, (_, index) => [
      { template: `v${index}` },
      { config: { n: index } },
    ]).flat();
    const answers = await Promise.all(bodies.map((body) => update(id, body)));
    expect(answers.map(({ status }) => status)).toEqual(bodies.map(() => 200));
    const { data } = await versionsOf(id);
    expect(data).toHaveLength(bodies.length + 1);
    const changes = data.slice(0, -1).map((version, index) => {
      const before = data[index + 1];
      return [version.template !== before?.template, JSON.stringify(version.config) !== JSON.stringify(before?.config)];
    });
    expect(changes.map(([ofTemplate, ofConfig]) => Number(ofTemplate) + Number(ofConfig))).toEqual(bodies.map(() => 1));
  });

  test('of updates at once from the same base_version exactly one is stored', async () => {
    const { id } = await it.newPrompt();
    const bodies = Array.from({ length: 10 }, (_, index) => ({ template: `b${index}`, base_version: 1 }));
    const answers = await Promise.all(bodies.map((body) => update(id, body)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 9 }, () => 409)]);
    expect((await versionsOf(id)).data).toHaveLength(2);
  });

  test('the entity tag that was read allows the update and is another afterwards', async () => {
    const { id } = await it.newPrompt();
    const etag = (await it.call('getPrompt', id)).headers.get('etag') ?? '';
    const changed = await update(id, { template: 'x' }, { headers: { 'If-Match': etag } });
    expect(changed.status, changed.text).toBe(200);
    const next = changed.headers.get('etag');
    expect(next).not.toBe(etag);
    expect((await it.call('getPrompt', id)).headers.get('etag')).toBe(next);
  });
});

describe('400', () => {
  test('an unknown field is refused', async () => {
    const { id } = await it.newPrompt();
    expectProblem(await update(id, { templat: 'x' }), 400, 'unknown_field');
  });
});

describe('403', () => {
  test('a key that may only read is refused', async () => {
    const { id } = await it.newPrompt();
    const { key } = await it.api.admin<{ key: string }>(
      'createApiKey',
      { params: { project_id: it.project.id }, body: { name: 'r', preset: 'read_only' } },
      201,
    );
    expectProblem(await update(id, { template: 'x' }, { key }), 403, 'insufficient_scope');
  });
});

describe('404', () => {
  test('what never was, and what is deleted, is unknown', async () => {
    expectProblem(await update(newId('prm'), { name: 'x' }), 404, 'prompt_not_found');
    const { id } = await it.newPrompt();
    await it.ok('deletePrompt', id);
    expectProblem(await update(id, { name: 'x' }), 404, 'prompt_not_found');
  });
});

describe('409', () => {
  test('an old base_version is refused with the current one', async () => {
    const { id } = await it.newPrompt();
    await update(id, { template: 'x' });
    const problem = expectProblem(await update(id, { template: 'y', base_version: 1 }), 409, 'version_conflict');
    expect(problem.current_version).toBe(2);
  });
  test('the slug of another prompt is taken', async () => {
    const [{ slug }, { id }] = [await it.newPrompt(), await it.newPrompt()];
    expectProblem(await update(id, { slug }), 409, 'slug_taken');
  });
});

describe('412', () => {
  test('a stale entity tag is refused and the content stays', async () => {
    const { id } = await it.newPrompt();
    const etag = (await it.call('getPrompt', id)).headers.get('etag') ?? '';
    await update(id, { name: 'Other' });
    const headers = { 'If-Match': etag };
    expectProblem(await update(id, { template: 'lost' }, { headers }), 412, 'precondition_failed');
    expect((await it.ok('getPrompt', id)).template).toBe('Hi {{who}}');
  });
});

describe('422', () => {
  test.each([
    [{ type: 'chat' }, 'type'],
    [{ messages: [{ role: 'user', content: 'x' }] }, 'messages'],
    [{ name: null }, 'name'],
    [{ template: null }, 'template'],
    [{ base_version: 0 }, 'base_version'],
  ])('the body %j is refused, naming the field', async (body, path) => {
    const { id } = await it.newPrompt();
    const problem = expectProblem(await update(id, body), 422, 'invalid_body');
    expect(problem.errors).toContainEqual(expect.objectContaining({ path }));
  });
  test('a template that parses in one format only cannot change to another', async () => {
    const { id } = await it.newPrompt({ template: '{% if', template_format: 'plain' });
    expectProblem(await update(id, { template_format: 'liquid' }), 422, 'invalid_template');
  });
});
