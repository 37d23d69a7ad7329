import { describe, expect, test } from 'vitest';
import { expectProblem } from '../../support/api.ts';
import { usePromptApi, type WireItem } from '../../support/prompt-api.ts';

const it = usePromptApi();

describe.each(['Prompt', 'Part'] as const)('of a %s', (title) => {
  const get = (called: string, version: number | string, options = {}) =>
    it.call<WireItem>(`get${title}Version`, called, { ...options, params: { version: String(version) } });

  describe('200', () => {
    test('is the same forever, and may be kept', async () => {
      const { id, slug } = await it[`new${title}`]();
      const before = await get(id, 1);
      await it.ok(`update${title}`, id, { body: { template: 'two', name: 'Other', labels: ['x'] } });
      const after = await get(slug, 1);
      expect(after.text).toBe(before.text);
      expect(after.headers.get('etag')).toBe(before.headers.get('etag'));
      expect(before.headers.get('cache-control')).toContain('immutable');
      // Another may get the slug.
      expect(after.headers.get('cache-control')).toBe('private, no-cache');
    });
  });

  describe('304', () => {
    test('with its entity tag there is no content', async () => {
      const { id } = await it[`new${title}`]();
      const headers = { 'If-None-Match': (await get(id, 1)).headers.get('etag') ?? '' };
      expect((await get(id, 1, { headers })).status).toBe(304);
    });
  });

  describe('404', () => {
    test('a version that is not there yet is unknown', async () => {
      const { id } = await it[`new${title}`]();
      expectProblem(await get(id, 2), 404, 'version_not_found');
    });
  });

  describe('422', () => {
    test.each(['0', '-1', '1.5', 'one', '1e3'])('%s is no version', async (version) => {
      const { id } = await it[`new${title}`]();
      expectProblem(await get(id, version), 422, 'invalid_path_parameter');
    });
  });
});
