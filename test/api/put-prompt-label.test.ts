import { describe, expect, test } from 'vitest';
import { expectProblem } from '../support/api.ts';
import { usePromptApi, type WireItem, type WirePage } from '../support/prompt-api.ts';

const it = usePromptApi();

interface Move {
  version: number | null;
  author: { type: string; id: string };
  at: string;
}

describe.each(['Prompt', 'Part'] as const)('of a %s', (title) => {
  const put = (called: string, label: string, version: unknown) =>
    it.call<WireItem & { label: string }>(`put${title}Label`, called, { params: { label }, body: { version } });
  const remove = (called: string, label: string) => it.call(`delete${title}Label`, called, { params: { label } });
  const moves = async (called: string, label: string) =>
    (await it.ok<WirePage<Move>>(`list${title}LabelHistory`, called, { params: { label } })).data;

  async function withTwo() {
    const { id } = await it[`new${title}`]();
    await it.ok(`update${title}`, id, { body: { template: 'two' } });
    return id;
  }

  test('200: a label is made, moved, and its moves are kept with who made them', async () => {
    const id = await withTwo();
    expect((await put(id, 'prod', 1)).body).toMatchObject({ label: 'prod', version: 1 });
    expect((await put(id, 'prod', 2)).body.all_labels).toEqual([
      expect.objectContaining({ label: 'prod', version: 2 }),
    ]);
    await put(id, 'prod', 2);
    expect((await remove(id, 'prod')).status).toBe(204);
    expect(await moves(id, 'prod')).toEqual(
      [null, 2, 1].map((version) => ({
        version,
        author: { type: 'api_key', id: expect.stringMatching(/^key_/) },
        at: expect.any(String),
      })),
    );
  });

  test('204: a removed label is really gone', async () => {
    const id = await withTwo();
    await put(id, 'prod', 1);
    await remove(id, 'prod');
    expect((await it.ok(`get${title}`, id)).all_labels).toEqual([]);
    expectProblem(await remove(id, 'prod'), 404, 'label_not_found');
  });

  test('404: a version that is not there', async () => {
    const id = await withTwo();
    expectProblem(await put(id, 'prod', 3), 404, 'version_not_found');
    expect(await moves(id, 'prod')).toEqual([]);
  });

  test.each(['latest', '1', 'Prod', 'x'.repeat(37), 'a b'])('422: the label %s', async (label) => {
    const id = await withTwo();
    expectProblem(await put(id, label, 1), 422, 'invalid_path_parameter');
  });

  test.each([['1'], [0], [null]])('422: the version %j', async (version) => {
    const id = await withTwo();
    expectProblem(await put(id, 'prod', version), 422, 'invalid_body');
  });
});
