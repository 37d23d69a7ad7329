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

  describe('200, of large versions', () => {
    test('a page ends before its contents exceed 2 MiB, and its cursor continues with the next version', async () => {
      // Of three bytes each.
      const template = '€'.repeat(262_144);
      const { id } = await it[`new${title}`]({ template, template_format: 'plain' });
      const count = 5;
      for (let version = 2; version <= count; version++) {
        await it.ok(`update${title}`, id, { body: { template: `${version}${template.slice(2)}` } });
      }
      const pages: { versions: number[]; hasMore: boolean; bytes: number }[] = [];
      let cursor: string | null = null;
      do {
        const { text, body } = await list(id, { limit: 100, ...(cursor && { cursor }) });
        const versions = body.data.map(({ version }) => version);
        pages.push({ versions, hasMore: body.page.has_more, bytes: Buffer.byteLength(text) });
        cursor = body.page.next_cursor;
      } while (cursor !== null);
      expect(pages).toMatchObject([
        { versions: [5, 4], hasMore: true },
        { versions: [3, 2], hasMore: true },
        { versions: [1], hasMore: false },
      ]);
      expect(Math.max(...pages.map(({ bytes }) => bytes))).toBeLessThan(2 * 1024 * 1024 + 10_000);
    });

    test('a page that ends at its limit before has others after it', async () => {
      const { id } = await it[`new${title}`]();
      await it.ok(`update${title}`, id, { body: { template: 'second' } });
      expect((await list(id, { limit: 1 })).body.page).toMatchObject({ has_more: true });
      expect((await list(id, { limit: 2 })).body.page).toMatchObject({ has_more: false });
    });
  });

  describe('404', () => {
    test('an unknown one says so', async () => {
      const id = newId(title === 'Prompt' ? 'prm' : 'prt');
      expectProblem(await list(id), 404, `${title.toLowerCase()}_not_found`);
    });
  });
});
