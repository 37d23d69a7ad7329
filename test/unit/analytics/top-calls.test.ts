import { expect, test } from 'vitest';
import { topCalls } from '../../../src/domains/analytics/top-calls.ts';

/** A project that has prompts by these names. */
const projectWith = (names: Record<string, string>) => ({
  find: async (_projectId: string, wanted: ReadonlySet<string>) =>
    new Map(
      [...wanted].flatMap((name) => (names[name] ? [[name, { id: names[name], slug: name, versions: [] }]] : [])),
    ),
});
const none = { model: '', provider: '', promptId: '', promptName: '', totalTokens: 2, cost: '3', failed: 1 };
const ofPrompt = (promptId: string, promptName: string, callCount: number) => ({
  ...{ ...none, isPrompt: 1 as const, promptId, promptName, callCount },
});
const ofModel = (model: string, callCount: number) => ({ ...none, isPrompt: 0 as const, model, callCount });

test('rows of one prompt by id, slug and former name are one, which can become the most frequent', async () => {
  const rows = [ofPrompt('', 'unknown', 9), ofPrompt('prm_a', 'a', 8), ofPrompt('', 'a', 7), ofPrompt('', 'old a', 6)];
  const found = await topCalls(projectWith({ a: 'prm_a', 'old a': 'prm_a' }), 'p', [...rows, ofModel('m', 30)]);
  expect(found).toEqual([
    { ...ofPrompt('prm_a', 'a', 21), totalTokens: 6, cost: '9', failed: 3 },
    rows[0],
    ofModel('m', 30),
  ]);
});

test('of more than ten prompts or models, the ten most frequent are left', async () => {
  const counts = Array.from({ length: 15 }, (_, index) => 15 - index);
  const rows = [
    ...counts.map((count) => ofPrompt('', `p${count}`, count)),
    ...counts.map((count) => ofModel(`m${count}`, count)),
  ];
  const found = await topCalls(projectWith({}), 'p', rows);
  expect(found.map(({ promptName, model }) => promptName || model)).toEqual([
    ...counts.slice(0, 10).map((count) => `p${count}`),
    ...counts.slice(0, 10).map((count) => `m${count}`),
  ]);
});
