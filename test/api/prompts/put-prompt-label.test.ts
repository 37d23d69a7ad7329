import { describe, expect, test } from 'vitest';
import { expectProblem } from '../../support/api.ts';
import { usePromptApi, type WireItem } from '../../support/prompt-api.ts';

const it = usePromptApi();

describe.each(['Prompt', 'Part'] as const)('of a %s', (title) => {
  const put = (called: string, label: string, version: unknown) =>
    it.call<WireItem & { label: string }>(`put${title}Label`, called, { params: { label }, body: { version } });

  async function withTwo() {
    const { id } = await it[`new${title}`]();
    await it.ok(`update${title}`, id, { body: { template: 'two' } });
    return id;
  }

  describe('200', () => {
    test('a label is made, and moved', async () => {
      const id = await withTwo();
      expect((await put(id, 'prod', 1)).body).toMatchObject({ label: 'prod', version: 1 });
      expect((await put(id, 'prod', 2)).body.all_labels).toEqual([
        expect.objectContaining({ label: 'prod', version: 2 }),
      ]);
    });

    test.each(['v1', 'a.b_c-d', 'x'.repeat(36)])('%s is a label', async (label) => {
      const id = await withTwo();
      expect((await put(id, label, 1)).body).toMatchObject({ label, version: 1 });
    });

    test('moves at once all count, and the last one holds', async () => {
      const id = await withTwo();
      const answers = await Promise.all([1, 2, 1, 2, 1, 2].map((version) => put(id, 'prod', version)));
      expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(200));
      const history = await it.ok<{ data: { version: number }[] }>(`list${title}LabelHistory`, id, {
        params: { label: 'prod' },
      });
      expect((await it.ok(`get${title}`, id)).all_labels).toEqual([
        expect.objectContaining({ label: 'prod', version: history.data[0]?.version }),
      ]);
    });
  });

  describe('404', () => {
    test('a version that is not there', async () => {
      const id = await withTwo();
      expectProblem(await put(id, 'prod', 3), 404, 'version_not_found');
      expect((await it.ok(`get${title}`, id)).all_labels).toEqual([]);
    });

    test('one that is not there', async () => {
      expectProblem(await put('nobody', 'prod', 1), 404, `${title.toLowerCase()}_not_found`);
    });
  });

  describe('422', () => {
    test.each(['latest', '1', '1a', 'Prod', 'x'.repeat(37), 'a b'])('the label %s', async (label) => {
      const id = await withTwo();
      expectProblem(await put(id, label, 1), 422, 'invalid_path_parameter');
    });

    test.each([['1'], [0], [null]])('the version %j', async (version) => {
      const id = await withTwo();
      expectProblem(await put(id, 'prod', version), 422, 'invalid_body');
    });
  });
});
