import { describe, expect, test } from 'vitest';
import { expectProblem } from '../../support/api.ts';
import { usePromptApi, type WirePage } from '../../support/prompt-api.ts';

const it = usePromptApi();

interface User {
  type: string;
  slug: string;
  version: number;
  direct: boolean;
  is_latest: boolean;
  labels: string[];
}
const usage = (called: string, query = {}) => it.ok<WirePage<User>>('listPartUsage', called, { query });

/** `inner` is in `outer`, and that in `prompt` version 1; version 2 names `inner` itself. */
async function nested() {
  const inner = await it.newPart();
  const outer = await it.newPart({ template: `{{> ${inner.slug} tone="x"}}` });
  const prompt = await it.newPrompt({ template: `{{> ${outer.slug}}}`, labels: ['production'] });
  await it.ok('updatePrompt', prompt.id, { body: { template: `{{> ${inner.slug}@1}}` } });
  return { inner, outer, prompt };
}

describe('200', () => {
  test('lists what includes the part directly and through others, page by page', async () => {
    const { inner, outer, prompt } = await nested();
    const expected = [
      { type: 'part', slug: outer.slug, version: 1, direct: true, is_latest: true, labels: [] },
      { type: 'prompt', slug: prompt.slug, version: 1, direct: false, is_latest: false, labels: ['production'] },
      { type: 'prompt', slug: prompt.slug, version: 2, direct: true, is_latest: true, labels: [] },
    ];
    expect((await usage(inner.slug)).data).toEqual(expected.map((each) => expect.objectContaining(each)));
    const first = await usage(inner.id, { limit: 2 });
    const second = await usage(inner.id, { limit: 2, cursor: first.page.next_cursor });
    expect([...first.data, ...second.data].map(({ version }) => version)).toEqual([1, 1, 2]);
    expect((await usage(outer.id)).data).toHaveLength(1);
  });

  test('what is deleted uses nothing', async () => {
    const { outer, prompt } = await nested();
    await it.ok('deletePrompt', prompt.id);
    expect((await usage(outer.id)).data).toEqual([]);
  });

  test('a prompt version keeps which part versions it came to when it was saved', async () => {
    const { inner, outer, prompt } = await nested();
    await it.ok('updatePart', inner.id, { body: { template: 'later' } });
    const rows = await it.api
      .postgres('prompt_version_parts')
      .where({ prompt_id: prompt.id })
      .orderBy(['version', 'part_id'])
      .select('version', 'part_id', 'part_version');
    expect(rows).toEqual([
      { version: 1, part_id: inner.id, part_version: 1 },
      { version: 1, part_id: outer.id, part_version: 1 },
      { version: 2, part_id: inner.id, part_version: 1 },
    ]);
  });
});

describe('404', () => {
  test('an unknown part says so', async () => {
    expectProblem(await it.call('listPartUsage', 'nope'), 404, 'part_not_found');
  });
});
