import { describe, expect, test } from 'vitest';
import { expectProblem } from '../../support/api.ts';
import { usePromptApi } from '../../support/prompt-api.ts';

const it = usePromptApi();

describe.each(['Prompt', 'Part'] as const)('of a %s', (title) => {
  const remove = (called: string, label: string, headers: Record<string, string> = {}) =>
    it.call(`delete${title}Label`, called, { params: { label }, headers });

  describe('204', () => {
    test('a removed label is really gone, and the version it pointed at stays', async () => {
      const { id } = await it[`new${title}`]({ labels: ['prod', 'other'] });
      const before = await it.call(`get${title}`, id);
      expect((await remove(id, 'prod')).status).toBe(204);
      const after = await it.call(`get${title}`, id);
      expect(after.body.all_labels).toEqual([expect.objectContaining({ label: 'other' })]);
      expect(after.body).toMatchObject({ version: 1, labels: ['other'] });
      expect(after.headers.get('etag')).not.toBe(before.headers.get('etag'));
      const { data } = await it.ok<{ data: unknown[] }>(`list${title}s`, '', { query: { label: 'prod' } });
      expect(data).toEqual([]);
    });

    test('the tag of a read removes a label', async () => {
      const { id } = await it[`new${title}`]({ labels: ['prod'] });
      const { headers } = await it.call(`get${title}`, id);
      expect((await remove(id, 'prod', { 'If-Match': String(headers.get('etag')) })).status).toBe(204);
    });

    test('nothing is read or rendered by a label that is gone', async () => {
      const part = await it.newPart({ labels: ['live'] });
      const { id } = await it.newPrompt({ template: `{{> ${part.slug}@live}}`, labels: ['live'] });
      const [called, unknown] =
        title === 'Prompt' ? ([id, 'label_not_found'] as const) : ([part.id, 'unknown_part'] as const);
      expect((await remove(called, 'live')).status).toBe(204);
      const body = title === 'Prompt' ? { label: 'live' } : {};
      const rendered = await it.call('renderPrompt', id, { body });
      expectProblem(rendered, title === 'Prompt' ? 404 : 422, unknown);
    });
  });

  describe('404', () => {
    test('a label that is not there, or no longer', async () => {
      const { id } = await it[`new${title}`]({ labels: ['prod'] });
      expectProblem(await remove(id, 'other'), 404, 'label_not_found');
      await remove(id, 'prod');
      expectProblem(await remove(id, 'prod'), 404, 'label_not_found');
    });

    test('one that is not there', async () => {
      expectProblem(await remove('nobody', 'prod'), 404, `${title.toLowerCase()}_not_found`);
    });
  });

  describe('412', () => {
    test('the tag of a read before the label moved, and the label stays', async () => {
      const { id } = await it[`new${title}`]({ labels: ['prod'] });
      const { headers } = await it.call(`get${title}`, id);
      await it.ok(`update${title}`, id, { body: { template: 'two' } });
      await it.ok(`put${title}Label`, id, { params: { label: 'prod' }, body: { version: 2 } });
      const answer = await remove(id, 'prod', { 'If-Match': String(headers.get('etag')) });
      expectProblem(answer, 412, 'precondition_failed');
      expect((await it.ok(`get${title}`, id)).labels).toEqual(['prod']);
    });
  });

  describe('422', () => {
    test.each(['latest', '1', 'Prod'])('the label %s', async (label) => {
      const { id } = await it[`new${title}`]();
      expectProblem(await remove(id, label), 422, 'invalid_path_parameter');
    });
  });
});
