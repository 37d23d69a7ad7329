import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { expectProblem } from '../../support/api.ts';
import { usePromptApi, type WireItem, type WirePage } from '../../support/prompt-api.ts';

const it = usePromptApi();
const rollBack = (called: string, body: unknown, options = {}) =>
  it.call<WireItem>('rollbackPrompt', called, { body, ...options });

/** Every version as it is sent, oldest first. */
async function history(called: string): Promise<string[]> {
  const { data } = await it.ok<WirePage<WireItem>>('listPromptVersions', called, { query: { limit: 100 } });
  return data.map((version) => JSON.stringify(version)).reverse();
}

describe('201', () => {
  test('is a new version with the content of the earlier one', async () => {
    const { id, content_hash } = await it.newPrompt({ config: { b: 1, a: 2 } });
    await it.ok('updatePrompt', id, { body: { template: 'two', config: null } });
    const { status, body } = await rollBack(id, { version: 1, commit_message: 'undo' });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      version: 3,
      kind: 'rollback',
      rolled_back_from: 1,
      parent_version: 2,
      content_hash,
      template: 'Hi {{who}}',
      commit_message: 'undo',
    });
    expect(JSON.stringify(body.config)).toBe('{"b":1,"a":2}');
  });

  test('also to the version that is the newest', async () => {
    const { id } = await it.newPrompt();
    expect((await rollBack(id, { version: 1 })).body).toMatchObject({ version: 2, rolled_back_from: 1 });
  });

  test('whatever updates and rollbacks come, history stays as it was and each hash is that of its source', async () => {
    const step = fc.oneof(
      fc.record({ template: fc.string({ unit: fc.constantFrom('a', 'b', ' ', 'é', '\n'), maxLength: 3 }) }),
      fc.record({ back: fc.nat(20) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
        const { id } = await it.newPrompt();
        let before = await history(id);
        for (const each of steps) {
          if ('back' in each) {
            const version = (each.back % before.length) + 1;
            const { body } = await rollBack(id, { version });
            const source: WireItem = JSON.parse(before[version - 1] ?? '');
            expect(body.content_hash).toBe(source.content_hash);
            expect(body.template).toBe(source.template);
          } else await it.ok('updatePrompt', id, { body: each });
          const after = await history(id);
          expect(after.slice(0, before.length)).toEqual(before);
          before = after;
        }
      }),
      { numRuns: 12 },
    );
  });

  test('at once with updates every one is kept, without a gap', async () => {
    const { id } = await it.newPrompt();
    const changes = Array.from({ length: 20 }, (_, index) =>
      index % 2 === 0 ? rollBack(id, { version: 1 }) : it.call('updatePrompt', id, { body: { template: `u${index}` } }),
    );
    const versions = (await Promise.all(changes)).map(({ body }) => body.version).sort((a, b) => a - b);
    expect(versions).toEqual(Array.from({ length: 20 }, (_, index) => index + 2));
  });
});

describe('404', () => {
  test('an unknown version says so', async () => {
    const { id } = await it.newPrompt();
    expectProblem(await rollBack(id, { version: 7 }), 404, 'version_not_found');
  });
});

describe('409', () => {
  test('an old base_version is refused', async () => {
    const { id } = await it.newPrompt();
    await it.ok('updatePrompt', id, { body: { template: 'two' } });
    expectProblem(await rollBack(id, { version: 1, base_version: 1 }), 409, 'version_conflict');
  });
});

describe('412', () => {
  test('a stale entity tag is refused, and leaves no version', async () => {
    const { id } = await it.newPrompt();
    const stale = (await it.call('getPrompt', id)).headers.get('etag') ?? '';
    await it.ok('updatePrompt', id, { body: { template: 'two' } });
    const refused = await rollBack(id, { version: 1 }, { headers: { 'If-Match': stale } });
    expectProblem(refused, 412, 'precondition_failed');
    expect(await history(id)).toHaveLength(2);
  });
});

describe('422', () => {
  test.each([['1'], [1.5], [0], [-1], [null], [true]])('a version of %j is refused', async (version) => {
    const { id } = await it.newPrompt();
    expectProblem(await rollBack(id, { version }), 422, 'invalid_body');
  });
});
