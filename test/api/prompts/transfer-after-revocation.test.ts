import { once } from 'node:events';
import { request } from 'node:http';
import { expect, test } from 'vitest';
import { partKind } from '../../../src/domains/parts/index.ts';
import { hashOf } from '../../../src/domains/versioned/index.ts';
import { newKey, newProject, type ProjectOfTest } from '../../support/api.ts';
import { usePromptApi } from '../../support/prompt-api.ts';
import { until } from '../../support/until.ts';

const it = usePromptApi();
const at = '2026-01-31T08:00:00.000Z';

/** The lines of a part with one version. */
function linesOf(slug: string): string {
  const content = { template: 'x', templateFormat: 'mustache' } as const;
  const item = { record: 'part', slug, name: slug, description: null, tags: [], labels: {}, versions: 1 };
  const version = {
    record: 'part_version',
    slug,
    version: 1,
    template: 'x',
    template_format: 'mustache',
    kind: 'create',
  };
  const made = {
    commit_message: null,
    parent_version: null,
    rolled_back_from: null,
    author: { type: 'user', id: null },
  };
  const lines = [
    { ...item, created_at: at, updated_at: at },
    { ...version, ...made, content_hash: hashOf(partKind, content), created_at: at },
  ];
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

/** Begins an import, whose body `end` completes. */
async function beginImport(url: string, key: string, lines: string) {
  const upload = request(url, {
    method: 'POST',
    headers: { 'X-API-Key': key, 'Content-Type': 'application/x-ndjson', Expect: '100-continue' },
  });
  const status = once(upload, 'response').then(([answer]) => {
    answer.resume();
    return answer.statusCode as number;
  });
  upload.flushHeaders();
  await once(upload, 'continue');
  upload.write(lines);
  return { status, end: () => upload.end() };
}

const transferUrl = ({ id }: ProjectOfTest, what: string) => `${it.api.url}/api/projects/${id}/prompts/${what}`;

/** Revokes a key, and resolves when it is refused and so much time has passed that a request is authorized again. */
async function revoke({ id }: ProjectOfTest, { id: keyId, key }: { id: string; key: string }): Promise<void> {
  const startedAtMs = performance.now();
  await it.api.admin('revokeApiKey', { params: { project_id: id, key_id: keyId } }, 204);
  await until('the key is refused', 10_000, async () => {
    const { status } = await it.api.call('listPrompts', { key, params: { project_id: id } });
    return status === 401 && performance.now() - startedAtMs > 500;
  });
}

async function partsOf({ id, key }: ProjectOfTest): Promise<unknown[]> {
  const { body } = await it.api.call<{ data: unknown[] }>('listParts', { key, params: { project_id: id } });
  return body.data;
}

test('an import whose key is revoked while its body arrives is refused, and stores nothing', async () => {
  const target = await newProject(it.api);
  const revoked = await newKey(it.api, target.id, {});
  const { status, end } = await beginImport(transferUrl(target, 'import'), revoked.key, linesOf('a'));
  await revoke(target, revoked);
  end();
  expect(await status).toBe(401);
  expect(await partsOf(target)).toEqual([]);
});

test('an import whose key is revoked while it is stored is refused, and stores nothing', async () => {
  const target = await newProject(it.api);
  const revoked = await newKey(it.api, target.id, {});
  const created = await it.ok('createPart', '', {
    ...{ key: target.key, params: { project_id: target.id }, body: { name: 'a', slug: 'a', template: 'x' } },
  });
  const status = await it.api.postgres.transaction(async (transaction) => {
    await transaction('parts').where({ id: created.id }).forUpdate().select('id');
    const { status, end } = await beginImport(transferUrl(target, 'import'), revoked.key, linesOf('a') + linesOf('b'));
    end();
    await until('the import waits for the part', 10_000, async () => {
      const waiting = it.api.postgres('pg_stat_activity').where({ wait_event_type: 'Lock' });
      return (await waiting.whereILike('query', '%staged_items%').select('pid')).length > 0;
    });
    await revoke(target, revoked);
    return { status };
  });
  expect(await status.status).toBe(401);
  expect(await partsOf(target)).toMatchObject([{ slug: 'a' }]);
});

test('an export whose key is revoked while its client does not read ends before its last line', async () => {
  const project = await newProject(it.api);
  const options = { key: project.key, params: { project_id: project.id } };
  await it.ok('createPart', '', { ...options, body: { name: 'a', slug: 'a', template: 'x' } });
  // More than the buffers of a connection take.
  for (let version = 2; version <= 25; version++) {
    const template = String.fromCodePoint(0x4e00 + version).repeat(250_000);
    await it.ok('updatePart', 'a', { ...options, body: { template } });
  }
  const revoked = await newKey(it.api, project.id, {});
  const read = async (key: string, meanwhile: () => Promise<void>) => {
    const answer = await fetch(transferUrl(project, 'export'), { headers: { 'X-API-Key': key } });
    expect(answer.status).toBe(200);
    await meanwhile();
    return (await answer.text()).trimEnd().split('\n').length;
  };
  await expect(read(revoked.key, () => revoke(project, revoked))).rejects.toThrow();
  expect(await read(project.key, async () => undefined)).toBe(26);
});
