import { describe, expect, test } from 'vitest';
import { newId } from '../../../src/lib/ids.ts';
import { expectProblem, newProject, startApi } from '../../support/api.ts';
import { usePromptApi, type WireItem } from '../../support/prompt-api.ts';
import { until } from '../../support/until.ts';

const it = usePromptApi();

describe('200', () => {
  test('by id and by slug it is the same, with the newest version', async () => {
    const { id, slug } = await it.newPrompt();
    const updated = await it.ok('updatePrompt', id, { body: { template: 'two' } });
    const { created_version: _, ...expected } = updated;
    expect(await it.ok('getPrompt', id)).toEqual(expected);
    expect(await it.ok('getPrompt', slug)).toEqual(expected);
  });

  test.each([
    [{ version: 1 }, 1, ['production']],
    [{ label: 'production' }, 1, ['production']],
    [{ label: 'latest' }, 2, []],
    [{}, 2, []],
  ])('with %j it is that version and its labels', async (query, version, labels) => {
    const { id } = await it.newPrompt({ labels: ['production'] });
    await it.ok('updatePrompt', id, { body: { template: 'two' } });
    const got = await it.ok('getPrompt', id, { query });
    expect(got).toMatchObject({ version, labels, latest_version: 2 });
    expect(got.otel_attributes?.['gen_ai.prompt.version']).toBe(String(version));
  });

  test('with a version or without, it must be asked for again', async () => {
    const { id } = await it.newPrompt();
    const pinned = await it.call('getPrompt', id, { query: { version: 1 } });
    // The version never changes, its labels and the prompt's name do.
    expect(pinned.headers.get('cache-control')).toBe('private, no-cache');
    expect((await it.call('getPrompt', id)).headers.get('cache-control')).toBe('private, no-cache');
  });

  test('a change in one process is seen in another within a second', async () => {
    const { id, slug } = await it.newPrompt();
    const other = await startApi(it.api.config);
    try {
      const read = () =>
        other.call<WireItem>('getPrompt', {
          params: { project_id: it.project.id, prompt_id: slug },
          key: it.project.key,
        });
      expect((await read()).body.version).toBe(1);
      await it.ok('updatePrompt', id, { body: { template: 'two' } });
      await until('the other sees the version', 1_000, async () => (await read()).body.version === 2);
      await it.ok('deletePrompt', id);
      await until('the other sees the end', 1_000, async () => (await read()).status === 404);
    } finally {
      await other.close();
    }
  });
});

describe('304', () => {
  test('with its entity tag there is no content, until anything of it changes', async () => {
    const { id } = await it.newPrompt();
    const etag = (await it.call('getPrompt', id)).headers.get('etag') ?? '';
    const headers = { 'If-None-Match': etag };
    expect(await it.call('getPrompt', id, { headers })).toMatchObject({ status: 304, text: '' });
    await it.ok('putPromptLabel', id, { params: { label: 'x' }, body: { version: 1 } });
    expect((await it.call('getPrompt', id, { headers })).status).toBe(200);
  });

  test('by a label there is no content as long as the label stays where it is', async () => {
    const { id } = await it.newPrompt({ labels: ['production'] });
    const byLabel = (etag = '') =>
      it.call('getPrompt', id, { query: { label: 'production' }, headers: { 'If-None-Match': etag } });
    const first = await byLabel();
    expect(first.headers.get('cache-control')).toBe('private, no-cache');
    const etag = first.headers.get('etag') ?? '';
    expect((await byLabel(etag)).status).toBe(304);
    await it.ok('updatePrompt', id, { body: { template: 'two', labels: ['production'] } });
    expect(await byLabel(etag)).toMatchObject({ status: 200, body: { version: 2, template: 'two' } });
  });
});

describe('404', () => {
  test('an unknown prompt, version or label says which', async () => {
    const { id } = await it.newPrompt();
    expectProblem(await it.call('getPrompt', newId('prm')), 404, 'prompt_not_found');
    expectProblem(await it.call('getPrompt', id, { query: { version: 9 } }), 404, 'version_not_found');
    expectProblem(await it.call('getPrompt', id, { query: { label: 'nope' } }), 404, 'label_not_found');
  });
  test('a prompt of another project is unknown', async () => {
    const { id } = await it.newPrompt();
    const { id: other, key } = await newProject(it.api);
    const answer = await it.call('getPrompt', id, { params: { project_id: other }, key });
    expectProblem(answer, 404, 'prompt_not_found');
  });
});

describe('400', () => {
  test.each([[{ version: 0 }], [{ version: 'x' }], [{ version: 1, label: 'a' }]])('%j is refused', async (query) => {
    const { id } = await it.newPrompt();
    expectProblem(await it.call('getPrompt', id, { query }), 400, 'invalid_parameter');
  });
});
