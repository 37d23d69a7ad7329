import { describe, expect, test } from 'vitest';
import { expectProblem } from '../../support/api.ts';
import { usePromptApi, type WireItem, type WirePage } from '../../support/prompt-api.ts';

const it = usePromptApi();
const list = (query = {}) => it.call<WirePage<WireItem>>('listParts', '', { query });

describe('200', () => {
  test('lists, sorts, filters and pages as prompts do', async () => {
    await it.newPart({ name: 'b', tags: ['t'], description: 'about tone' });
    await it.newPart({ name: 'a', labels: ['live'] });
    const names = async (query: object) => (await list(query)).body.data.map(({ name }) => name);
    expect(await names({ sort: 'name' })).toEqual(['a', 'b']);
    expect(await names({})).toEqual(['a', 'b']);
    expect(await names({ q: 'TONE' })).toEqual(['b']);
    expect(await names({ tag: 't' })).toEqual(['b']);
    expect(await names({ label: 'live' })).toEqual(['a']);
    const { page } = (await list({ sort: 'name', limit: 1 })).body;
    expect(await names({ sort: 'name', limit: 1, cursor: page.next_cursor })).toEqual(['b']);
  });
});

describe('400', () => {
  test('parts have no type', async () => {
    expectProblem(await list({ type: 'text' }), 400, 'unknown_parameter');
  });
});
