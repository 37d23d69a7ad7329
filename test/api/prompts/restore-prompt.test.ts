import { describe, expect, test } from 'vitest';
import { expectProblem } from '../../support/api.ts';
import { usePromptApi } from '../../support/prompt-api.ts';

const it = usePromptApi();

describe('200', () => {
  test.each(['id', 'slug'] as const)('by %s a deleted prompt is as it was', async (called) => {
    const prompt = await it.newPrompt({ labels: ['production'] });
    await it.ok('deletePrompt', prompt.id);
    const restored = await it.ok('restorePrompt', prompt[called]);
    expect(restored).toEqual({ ...prompt, updated_at: restored.updated_at });
    expect(await it.ok('getPrompt', prompt.slug)).toEqual(restored);
  });
});

describe('404', () => {
  test('a prompt that is not deleted, and one deleted long ago, is not found', async () => {
    const { id } = await it.newPrompt();
    expectProblem(await it.call('restorePrompt', id), 404, 'prompt_not_found');
    await it.ok('deletePrompt', id);
    const longAgo = new Date(Date.now() - 31 * 24 * 3_600_000);
    await it.api.postgres('prompts').where({ id }).update({ deleted_at: longAgo });
    expectProblem(await it.call('restorePrompt', id), 404, 'prompt_not_found');
  });
});

describe('409', () => {
  test('a slug that was taken meanwhile stays with the other', async () => {
    const { id, slug } = await it.newPrompt();
    await it.ok('deletePrompt', id);
    await it.newPrompt({ slug });
    expectProblem(await it.call('restorePrompt', id), 409, 'slug_taken');
  });
});
