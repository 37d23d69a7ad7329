import { describe, expect, test } from 'vitest';
import { expectProblem, newProject } from '../../support/api.ts';
import { usePromptApi, type WireItem, type WirePage } from '../../support/prompt-api.ts';

const it = usePromptApi();

/** A project with prompts `a` to `e`, made in this order; `a` is changed last. */
async function withPrompts() {
  const project = await newProject(it.api);
  const options = { key: project.key, params: { project_id: project.id } };
  const create = (body: object) =>
    it.ok('createPrompt', '', { ...options, body: { type: 'text', template: 'x', ...body } });
  await create({ name: 'a', slug: 'first', description: 'Answers 100% of all questions', tags: ['red', 'blue'] });
  await create({ name: 'b', tags: ['red'], labels: ['production'] });
  await create({ name: 'c', type: 'chat', template: undefined, messages: [{ role: 'user', content: 'x' }] });
  await create({ name: 'd', description: 'The ÜBER prompt' });
  const { updated_at } = await create({ name: 'e', labels: ['production'] });
  await it.ok('updatePrompt', 'first', { ...options, body: { template: 'y' } });
  const list = (query: Record<string, string | number> = {}) =>
    it.call<WirePage<WireItem>>('listPrompts', '', { ...options, query });
  const names = async (query: Record<string, string | number>) => (await list(query)).body.data.map(({ name }) => name);
  return { list, names, create, updatedAt: updated_at, project };
}

describe('200', () => {
  test('every filter finds what it says', async () => {
    const { names, updatedAt } = await withPrompts();
    const found: [Record<string, string>, string[]][] = [
      [{}, ['a', 'e', 'd', 'c', 'b']],
      [{ sort: 'name' }, ['a', 'b', 'c', 'd', 'e']],
      [{ sort: '-created_at' }, ['e', 'd', 'c', 'b', 'a']],
      [{ q: 'questions answers' }, ['a']],
      [{ q: '100%' }, ['a']],
      [{ q: '_' }, []],
      [{ q: 'über' }, ['d']],
      [{ q: 'irs' }, ['a']],
      [{ tag: 'red' }, ['a', 'b']],
      [{ label: 'production' }, ['e', 'b']],
      [{ label: 'latest' }, ['a', 'e', 'd', 'c', 'b']],
      [{ name: 'c' }, ['c']],
      [{ type: 'chat' }, ['c']],
      [{ updated_after: updatedAt }, ['a', 'e']],
      [{ tag: 'red', type: 'text', q: 'first' }, ['a']],
    ];
    for (const [query, expected] of found) expect(await names(query), JSON.stringify(query)).toEqual(expected);
  });

  test('a word is found in any case, with its accents composed or apart', async () => {
    const { create, names } = await withPrompts();
    await create({ name: 'ΟΔΟΣ', description: 'İstanbul' });
    await create({ name: 'E\u0301cole' });
    await create({ name: '\u00c9tude' });
    const found: [string, string[]][] = [
      ['ΟΔΟΣ', ['ΟΔΟΣ']],
      ['οδοσ', ['ΟΔΟΣ']],
      ['İSTANBUL', ['ΟΔΟΣ']],
      ['\u00c9COLE', ['E\u0301cole']],
      ['e\u0301tude', ['\u00c9tude']],
    ];
    for (const [q, expected] of found) expect(await names({ q }), q).toEqual(expected);
  });

  test('tags that are repeated are all meant', async () => {
    const { project } = await withPrompts();
    const url = `${it.api.url}/api/projects/${project.id}/prompts?tag=red&tag=blue`;
    const answer = await fetch(url, { headers: { 'X-API-Key': project.key } });
    expect(await answer.json()).toMatchObject({ data: [{ name: 'a', type: 'text', version: 2, latest_version: 2 }] });
  });

  test.each(['name', '-updated_at', '-created_at'])(
    'pages by %s have everything once while prompts are inserted',
    async (sort) => {
      const { list, create, names } = await withPrompts();
      const all = await names({ sort });
      const seen: string[] = [];
      let cursor: string | null = '';
      for (let page = 0; cursor !== null; page++) {
        const { body }: { body: WirePage<WireItem> } = await list({ sort, limit: 2, ...(cursor ? { cursor } : {}) });
        seen.push(...body.data.map(({ name }) => name));
        cursor = body.page.next_cursor;
        if (page < 2) await create({ name: `${sort === 'name' ? '0' : 'z'}${page}` });
      }
      expect(seen.filter((name) => all.includes(name))).toEqual(all);
      expect(new Set(seen).size).toBe(seen.length);
    },
  );

  test.each(['-updated_at', '-created_at'])('pages by %s have everything once in the year 9999', async (sort) => {
    const { list, project } = await withPrompts();
    const late = '9999-01-01T00:00:00.001Z';
    await it.api.postgres('prompts').where({ project_id: project.id }).update({ created_at: late, updated_at: late });
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const { body } = await list({ sort, limit: 1, ...(cursor === undefined ? {} : { cursor }) });
      seen.push(...body.data.map(({ name }) => name));
      cursor = body.page.next_cursor ?? undefined;
    } while (cursor !== undefined && seen.length < 10);
    expect(seen.sort()).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  test('what is deleted is not listed', async () => {
    const { names, project } = await withPrompts();
    await it.ok('deletePrompt', 'first', { key: project.key, params: { project_id: project.id } });
    expect(await names({ sort: 'name' })).toEqual(['b', 'c', 'd', 'e']);
  });
});

describe('400', () => {
  test.each([
    [{ sort: 'size' }, 'invalid_parameter'],
    [{ type: 'image' }, 'invalid_parameter'],
    [{ updated_after: 'now' }, 'invalid_parameter'],
    [{ limit: 101 }, 'invalid_parameter'],
    [{ color: 'red' }, 'unknown_parameter'],
    [{ cursor: 'abc' }, 'invalid_cursor'],
    [{ q: 'one two three four five six seven eight nine ten eleven' }, 'invalid_parameter'],
  ])('%j is refused', async (query, code) => {
    expectProblem(await it.call('listPrompts', '', { query }), 400, code);
  });
  test.each(['1.5', '101', 'many'])('a limit of %s is refused by naming what is allowed', async (limit) => {
    const answer = await it.call('listPrompts', '', { query: { limit } });
    const [error] = expectProblem(answer, 400, 'invalid_parameter').errors ?? [];
    expect(error?.message).toBe(`must be a whole number from 1 to 100; given "${limit}"`.replace('"101"', '101'));
  });
  test('a cursor of another sort is refused', async () => {
    const { list } = await withPrompts();
    const { next_cursor } = (await list({ limit: 1 })).body.page;
    expectProblem(await list({ limit: 1, sort: 'name', cursor: next_cursor ?? '' }), 400, 'cursor_mismatch');
  });
});
