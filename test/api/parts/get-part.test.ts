import { describe, expect, test } from 'vitest';
import { newId } from '../../../src/lib/ids.ts';
import { expectProblem, newProject } from '../../support/api.ts';
import { usePromptApi } from '../../support/prompt-api.ts';

const it = usePromptApi();

describe('200', () => {
  test('by id and by slug it is the same, with the newest version', async () => {
    const { id, slug } = await it.newPart();
    const { created_version: _, ...expected } = await it.ok('updatePart', id, { body: { template: 'two' } });
    expect(expected).toMatchObject({ version: 2, template: 'two' });
    expect(await it.ok('getPart', id)).toEqual(expected);
    expect(await it.ok('getPart', slug)).toEqual(expected);
  });
});

describe('304', () => {
  test('with its entity tag there is no content, until anything of it changes', async () => {
    const { id } = await it.newPart();
    const first = await it.call('getPart', id);
    expect(first.headers.get('cache-control')).toBe('private, no-cache');
    const headers = { 'If-None-Match': first.headers.get('etag') ?? '' };
    expect(await it.call('getPart', id, { headers })).toMatchObject({ status: 304, text: '' });
    await it.ok('updatePart', id, { body: { tags: ['new'] } });
    expect((await it.call('getPart', id, { headers })).status).toBe(200);
  });
});

describe('404', () => {
  test('an unknown part, and one of another project', async () => {
    const { id } = await it.newPart();
    expectProblem(await it.call('getPart', newId('prt')), 404, 'part_not_found');
    const { id: other, key } = await newProject(it.api);
    expectProblem(await it.call('getPart', id, { params: { project_id: other }, key }), 404, 'part_not_found');
  });
});
