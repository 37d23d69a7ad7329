import { describe, expect, test } from 'vitest';
import { expectProblem } from '../../support/api.ts';
import { usePromptApi } from '../../support/prompt-api.ts';

const it = usePromptApi();

describe('204', () => {
  test('a part that only an old version names can go', async () => {
    const { id, slug } = await it.newPart();
    const prompt = await it.newPrompt({ template: `{{> ${slug}}}` });
    await it.ok('updatePrompt', prompt.id, { body: { template: 'without' } });
    expect((await it.call('deletePart', id)).status).toBe(204);
    expectProblem(await it.call('getPart', id), 404, 'part_not_found');
  });
});

describe('404', () => {
  test('a part is deleted once', async () => {
    const { id } = await it.newPart();
    await it.ok('deletePart', id);
    expectProblem(await it.call('deletePart', id), 404, 'part_not_found');
  });
});

describe('409', () => {
  test('a part in use is kept, and who uses it is said', async () => {
    const { id, slug } = await it.newPart();
    const chat = { type: 'chat', template: undefined, messages: [{ role: 'user', content: `{{> ${slug}}}` }] };
    const prompt = await it.newPrompt(chat);
    const outer = await it.newPart({ template: `{{> ${slug}@1}}` });
    const problem = expectProblem(await it.call('deletePart', id), 409, 'part_in_use');
    expect(problem.dependants).toEqual([
      { type: 'part', id: outer.id, slug: outer.slug, name: outer.name, version: 1 },
      { type: 'prompt', id: prompt.id, slug: prompt.slug, name: prompt.name, version: 1 },
    ]);
  });
  test('what is in use only through an older version of another part, which is pinned, is kept', async () => {
    const { id, slug } = await it.newPart();
    const outer = await it.newPart({ template: `{{> ${slug}}}` });
    const prompt = await it.newPrompt({ template: `{{> ${outer.slug}@1}}` });
    await it.ok('updatePart', outer.id, { body: { template: 'without' } });
    const problem = expectProblem(await it.call('deletePart', id), 409, 'part_in_use');
    expect(problem.dependants).toEqual([expect.objectContaining({ type: 'prompt', id: prompt.id, version: 1 })]);
    await it.ok('updatePrompt', prompt.id, { body: { template: `{{> ${outer.slug}}}` } });
    expect((await it.call('deletePart', id)).status).toBe(204);
  });
  test('a labeled version that names it keeps it', async () => {
    const { id, slug } = await it.newPart();
    const prompt = await it.newPrompt({ template: `{{> ${slug}}}`, labels: ['production'] });
    await it.ok('updatePrompt', prompt.id, { body: { template: 'without' } });
    expectProblem(await it.call('deletePart', id), 409, 'part_in_use');
  });
});

describe('412', () => {
  test('a stale entity tag is refused, and the part stays', async () => {
    const { id } = await it.newPart();
    const refused = await it.call('deletePart', id, { headers: { 'If-Match': '"x"' } });
    expectProblem(refused, 412, 'precondition_failed');
    expect((await it.call('getPart', id)).status).toBe(200);
  });
});
