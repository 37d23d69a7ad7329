import { describe, expect, test } from 'vitest';
import { newId } from '../../../src/lib/ids.ts';
import { expectProblem } from '../../support/api.ts';
import { usePromptApi, type WireItem, type WirePage } from '../../support/prompt-api.ts';

const it = usePromptApi();

describe.each(['Prompt', 'Part'] as const)('of a %s', (title) => {
  const list = (called: string, query = {}) => it.call<WirePage<WireItem>>(`list${title}Versions`, called, { query });

  async function withVersions(count: number) {
    const { id } = await it[`new${title}`]();
    for (let version = 2; version <= count; version++) {
      await it.ok(`update${title}`, id, { body: { template: `v${version}` } });
    }
    return id;
  }

  describe('200', () => {
    test('newest first, page by page, while versions are added', async () => {
      const id = await withVersions(5);
      const first = (await list(id, { limit: 2 })).body;
      await it.ok(`update${title}`, id, { body: { template: 'meanwhile' } });
      const second = (await list(id, { limit: 4, cursor: first.page.next_cursor })).body;
      expect([...first.data, ...second.data].map(({ version }) => version)).toEqual([5, 4, 3, 2, 1]);
      expect(second.page).toMatchObject({ has_more: false, next_cursor: null });
      expect(first.data[0]).toMatchObject({ template: 'v5', kind: 'update', parent_version: 4 });
    });
  });

  describe('404', () => {
    test('an unknown one says so', async () => {
      const id = newId(title === 'Prompt' ? 'prm' : 'prt');
      expectProblem(await list(id), 404, `${title.toLowerCase()}_not_found`);
    });
  });
});
