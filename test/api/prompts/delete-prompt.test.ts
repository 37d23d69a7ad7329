import { describe, expect, test } from 'vitest';
import { expectProblem } from '../../support/api.ts';
import { usePromptApi } from '../../support/prompt-api.ts';

const it = usePromptApi();

describe('204', () => {
  test('the prompt is gone, its versions are kept', async () => {
    const { id } = await it.newPrompt();
    expect((await it.call('deletePrompt', id)).status).toBe(204);
    expectProblem(await it.call('getPrompt', id), 404, 'prompt_not_found');
    expect(await it.api.postgres('prompt_versions').where({ prompt_id: id })).toHaveLength(1);
  });
});

describe('404', () => {
  test('a prompt is deleted once', async () => {
    const { id } = await it.newPrompt();
    await it.ok('deletePrompt', id);
    expectProblem(await it.call('deletePrompt', id), 404, 'prompt_not_found');
  });
});

describe('412', () => {
  test('a stale entity tag is refused', async () => {
    const { id } = await it.newPrompt();
    const answer = await it.call('deletePrompt', id, { headers: { 'If-Match': '"other"' } });
    expectProblem(answer, 412, 'precondition_failed');
  });
});
