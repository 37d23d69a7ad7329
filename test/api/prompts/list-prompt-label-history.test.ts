import { describe, expect, test } from 'vitest';
import { expectProblem } from '../../support/api.ts';
import { usePromptApi, type WirePage } from '../../support/prompt-api.ts';

const it = usePromptApi();

interface Move {
  version: number | null;
  author: { type: string; id: string };
  at: string;
}

describe.each(['Prompt', 'Part'] as const)('of a %s', (title) => {
  const history = (called: string, label: string, query = {}) =>
    it.call<WirePage<Move>>(`list${title}LabelHistory`, called, { params: { label }, query });

  /** `prod` at version 1, then 2, pointed there twice, then removed. */
  async function withMoves() {
    const { id } = await it[`new${title}`]({ labels: ['prod'] });
    await it.ok(`update${title}`, id, { body: { template: 'two', labels: ['prod'] } });
    await it.ok(`put${title}Label`, id, { params: { label: 'prod' }, body: { version: 2 } });
    await it.ok(`delete${title}Label`, id, { params: { label: 'prod' } });
    return id;
  }

  describe('200', () => {
    test('the moves newest first with who made them, the removal among them, and no move to where it was', async () => {
      const { body } = await history(await withMoves(), 'prod');
      expect(body.data).toEqual(
        [null, 2, 1].map((version) => ({
          version,
          author: { type: 'api_key', id: expect.stringMatching(/^key_/) },
          at: expect.any(String),
        })),
      );
    });

    test('moves at the same time are each later than the one before, and the label was moved when the last one was', async () => {
      const { id } = await it[`new${title}`]();
      for (const template of ['two', 'three', 'four']) await it.ok(`update${title}`, id, { body: { template } });
      const versions = Array.from({ length: 16 }, (_, index) => (index % 4) + 1);
      const moved = versions.map((version) =>
        it.ok(`put${title}Label`, id, { params: { label: 'prod' }, body: { version } }),
      );
      await Promise.all(moved);
      const times = (await history(id, 'prod', { limit: 100 })).body.data.map(({ at }) => at);
      expect(times).toEqual(times.toSorted().toReversed());
    });

    test('page by page it is the same', async () => {
      const id = await withMoves();
      const first = (await history(id, 'prod', { limit: 2 })).body;
      const second = (await history(id, 'prod', { limit: 2, cursor: first.page.next_cursor })).body;
      expect([...first.data, ...second.data].map(({ version }) => version)).toEqual([null, 2, 1]);
      expect(second.page).toMatchObject({ has_more: false, next_cursor: null });
    });

    test('a label that never was has none', async () => {
      const { id } = await it[`new${title}`]();
      expect((await history(id, 'never')).body.data).toEqual([]);
    });
  });

  describe('400', () => {
    test('a cursor of another label is refused', async () => {
      const id = await withMoves();
      const { page } = (await history(id, 'prod', { limit: 1 })).body;
      expectProblem(await history(id, 'other', { cursor: page.next_cursor }), 400, 'cursor_mismatch');
    });
  });

  describe('404', () => {
    test('one that is not there', async () => {
      expectProblem(await history('nobody', 'prod'), 404, `${title.toLowerCase()}_not_found`);
    });
  });

  describe('422', () => {
    test.each(['latest', 'Prod'])('the label %s', async (label) => {
      const { id } = await it[`new${title}`]();
      expectProblem(await history(id, label), 422, 'invalid_path_parameter');
    });
  });
});
