import { describe, expect, test } from 'vitest';
import { expectProblem } from '../../support/api.ts';
import { usePromptApi, type WireItem } from '../../support/prompt-api.ts';

const it = usePromptApi();
const rollBack = (called: string, body: unknown, options = {}) =>
  it.call<WireItem>('rollbackPart', called, { body, ...options });

describe('201', () => {
  test('is a new version with the content of the earlier one, which prompts follow', async () => {
    const { id, slug, content_hash } = await it.newPart({ template: 'one' });
    const prompt = await it.newPrompt({ template: `{{> ${slug}}}` });
    await it.ok('updatePart', id, { body: { template: 'two', template_format: 'plain' } });
    const answer = await rollBack(slug, { version: 1, commit_message: 'undo' });
    expect(answer).toMatchObject({
      status: 201,
      body: { version: 3, kind: 'rollback', rolled_back_from: 1, parent_version: 2, content_hash, template: 'one' },
    });
    const rendered = await it.ok<{ rendered: string; parts: unknown }>('renderPrompt', prompt.id, { body: {} });
    expect(rendered).toMatchObject({ rendered: 'one', parts: [{ slug, version: 3 }] });
  });

  test('also to the version that is the newest', async () => {
    const { id } = await it.newPart();
    expect((await rollBack(id, { version: 1 })).body).toMatchObject({ version: 2, rolled_back_from: 1 });
  });
});

describe('404', () => {
  test('an unknown version, an unknown part', async () => {
    const { id } = await it.newPart();
    expectProblem(await rollBack(id, { version: 2 }), 404, 'version_not_found');
    expectProblem(await rollBack('nobody', { version: 1 }), 404, 'part_not_found');
  });
});

describe('409', () => {
  test('an old base_version is refused, with the current one', async () => {
    const { id } = await it.newPart();
    await it.ok('updatePart', id, { body: { template: 'two' } });
    const problem = expectProblem(await rollBack(id, { version: 1, base_version: 1 }), 409, 'version_conflict');
    expect(problem.current_version).toBe(2);
  });
});

describe('412', () => {
  test('a stale entity tag is refused', async () => {
    const { id } = await it.newPart();
    const stale = { headers: { 'If-Match': '"x"' } };
    expectProblem(await rollBack(id, { version: 1 }, stale), 412, 'precondition_failed');
  });
});

describe('422', () => {
  test.each([['1'], [0], [1.5], [null]])('the version %j', async (version) => {
    const { id } = await it.newPart();
    expectProblem(await rollBack(id, { version }), 422, 'invalid_body');
  });

  test('one that would complete a cycle is refused, and leaves no version', async () => {
    const { slug: inner } = await it.newPart({ template: 'x' });
    const { slug: outer } = await it.newPart({ template: `{{> ${inner}}}` });
    await it.ok('updatePart', outer, { body: { template: 'free' } });
    await it.ok('updatePart', inner, { body: { template: `{{> ${outer}}}` } });
    expectProblem(await rollBack(outer, { version: 1 }), 422, 'part_cycle');
    expect((await it.ok('getPart', outer)).latest_version).toBe(2);
  });
});
