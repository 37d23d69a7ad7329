import { describe, expect, test } from 'vitest';
import { expectProblem } from '../../support/api.ts';
import { usePromptApi } from '../../support/prompt-api.ts';

const it = usePromptApi();

describe('200', () => {
  test('says what changed field by field and line by line', async () => {
    const { id } = await it.newPrompt({ template: 'one\ntwo\n', config: { model: 'a', params: { n: 1 } } });
    await it.ok('updatePrompt', id, { body: { template: 'one\n2\n', config: { model: 'a', params: { n: 2 } } } });
    const diff = await it.ok<Record<string, unknown>>('diffPrompt', id, { query: { from: 1 } });
    expect(diff).toMatchObject({ from: 1, to: 2, identical: false });
    expect(diff.changes).toContainEqual({ field: 'config.params.n', from: 1, to: 2 });
    expect(diff.unified_diff).toMatch(/-two\n\+2/);
  });
  test('two versions with the same content are identical', async () => {
    const { id } = await it.newPrompt();
    await it.ok('rollbackPrompt', id, { body: { version: 1 } });
    const diff = await it.ok('diffPrompt', id, { query: { from: 1, to: 2 } });
    expect(diff).toEqual({ from: 1, to: 2, identical: true, changes: [], unified_diff: '' });
  });

  test('changes below a long key are listed up to a bound', async () => {
    const configOf = (value: number) => ({
      ['K'.repeat(100_000)]: Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`a${at}`, value])),
    });
    const { id } = await it.newPrompt({ config: configOf(1) });
    await it.ok('updatePrompt', id, { body: { config: configOf(2) } });
    const { status, body, text } = await it.call<{ changes: unknown[] }>('diffPrompt', id, { query: { from: 1 } });
    expect([status, body.changes.length]).toEqual([200, 2]);
    expect(text.length).toBeLessThan(300_000);
  });
});

describe('400', () => {
  test('without from it is refused', async () => {
    const { id } = await it.newPrompt();
    expectProblem(await it.call('diffPrompt', id), 400, 'invalid_parameter');
  });
});

describe('404', () => {
  test('an unknown version says so', async () => {
    const { id } = await it.newPrompt();
    expectProblem(await it.call('diffPrompt', id, { query: { from: 1, to: 2 } }), 404, 'version_not_found');
  });
});
