import { describe, expect, test } from 'vitest';
import { expectProblem } from '../../support/api.ts';
import { usePromptApi, type WireItem } from '../../support/prompt-api.ts';

const it = usePromptApi();

describe.each(['Prompt', 'Part'] as const)('of a %s', (title) => {
  const put = (called: string, label: string, version: unknown, ifMatch?: string) =>
    it.call<WireItem & { label: string }>(`put${title}Label`, called, {
      ...{ params: { label }, body: { version } },
      ...(ifMatch === undefined ? {} : { headers: { 'If-Match': ifMatch } }),
    });
  const tagOf = async (called: string) => String((await it.call(`get${title}`, called)).headers.get('etag'));

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

    test('the tag of a read moves a label, and the response has the next tag', async () => {
      const id = await withTwo();
      const first = await put(id, 'prod', 1, await tagOf(id));
      const next = first.headers.get('etag') ?? '';
      expect([first.status, next]).toEqual([200, await tagOf(id)]);
      expect((await put(id, 'prod', 2, next)).status).toBe(200);
      expect((await put(id, 'prod', 1, '*')).status).toBe(200);
    });

    test('of callers that move a label by the same tag, one does', async () => {
      const id = await withTwo();
      const tag = await tagOf(id);
      const answers = await Promise.all([1, 2, 1, 2].map((version, nth) => put(id, `l${nth}`, version, tag)));
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 412, 412, 412]);
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

  describe('412', () => {
    test('the tag of a read before another move, and nothing changes', async () => {
      const id = await withTwo();
      const stale = await tagOf(id);
      await put(id, 'prod', 2);
      const { current_etag } = expectProblem(await put(id, 'prod', 1, stale), 412, 'precondition_failed');
      expect(current_etag).toBe(await tagOf(id));
      expect((await it.ok(`get${title}`, id)).all_labels).toEqual([
        expect.objectContaining({ label: 'prod', version: 2 }),
      ]);
    });

    test('a stale tag with the version that the label points at already', async () => {
      const id = await withTwo();
      await put(id, 'prod', 2);
      expectProblem(await put(id, 'prod', 2, '"other"'), 412, 'precondition_failed');
    });

    test('* for a label that is not there', async () => {
      const id = await withTwo();
      const { current_etag } = expectProblem(await put(id, 'prod', 1, '*'), 412, 'precondition_failed');
      expect(current_etag).toBeNull();
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

test('the tag of a read of the version that gets the label moves it, whatever version is the newest', async () => {
  const { id } = await it.newPrompt({ labels: ['prod'] });
  for (const template of ['two', 'three']) await it.ok('updatePrompt', id, { body: { template } });
  const read = await it.call('getPrompt', id, { query: { version: 2 } });
  const headers = { 'If-Match': String(read.headers.get('etag')) };
  const move = () => it.call('putPromptLabel', id, { params: { label: 'prod' }, body: { version: 2 }, headers });
  expect((await move()).status).toBe(200);
  expectProblem(await move(), 412, 'precondition_failed');
});

test('the tag of a read of a prompt by its label moves that label once', async () => {
  const { id } = await it.newPrompt({ labels: ['prod'] });
  await it.ok('updatePrompt', id, { body: { template: 'two' } });
  const read = await it.call('getPrompt', id, { query: { label: 'prod' } });
  const headers = { 'If-Match': String(read.headers.get('etag')) };
  const move = () => it.call('putPromptLabel', id, { params: { label: 'prod' }, body: { version: 2 }, headers });
  expect(read.body.version).toBe(1);
  expect((await move()).status).toBe(200);
  expectProblem(await move(), 412, 'precondition_failed');
});
