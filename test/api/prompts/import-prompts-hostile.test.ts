import { once } from 'node:events';
import { request } from 'node:http';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { partKind } from '../../../src/domains/parts/index.ts';
import { promptKind } from '../../../src/domains/prompts/index.ts';
import { hashOf } from '../../../src/domains/versioned/index.ts';
import { newProject, type ProjectOfTest } from '../../support/api.ts';
import { usePromptApi } from '../../support/prompt-api.ts';
import { until } from '../../support/until.ts';

const it = usePromptApi();

interface Report {
  code?: string;
  detail?: string;
  errors: { path: string; message: string }[];
}

async function imported({ id, key }: ProjectOfTest, body: string | Uint8Array<ArrayBuffer>, query = '') {
  const isGzip = typeof body !== 'string';
  const answer = await fetch(`${it.api.url}/api/projects/${id}/prompts/import${query}`, {
    method: 'POST',
    headers: {
      'X-API-Key': key,
      'Content-Type': 'application/x-ndjson',
      ...(isGzip ? { 'Content-Encoding': 'gzip' } : {}),
    },
    body,
  });
  return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Report };
}

const at = '2026-01-31T08:00:00.000Z';
const author = { type: 'user', id: 'usr_somebody_else' };
const made = { commit_message: null, kind: 'create', parent_version: null, rolled_back_from: null, author };

const itemLine = (record: 'part' | 'prompt', slug: string, more: object = {}) => ({
  ...{ record, slug, name: slug, description: null, tags: [], labels: {}, versions: 1, created_at: at, updated_at: at },
  ...(record === 'prompt' ? { type: 'text' } : {}),
  ...more,
});

const partVersion = (slug: string, version: number, template: string) => ({
  ...{ record: 'part_version', slug, version, template, template_format: 'mustache', ...made, created_at: at },
  content_hash: hashOf(partKind, { template, templateFormat: 'mustache' }),
});

function promptVersion(slug: string, version: number, template: string, more: object = {}) {
  const content = { type: 'text', template, templateFormat: 'plain', config: null, inputSchema: null } as const;
  return {
    ...{ record: 'prompt_version', slug, version, type: 'text', template, template_format: 'plain', ...made },
    ...{ config: null, input_schema: null, optimization_run_id: null, created_at: at },
    content_hash: hashOf(promptKind, content),
    ...more,
  };
}

const usingPart = hashOf(promptKind, {
  ...{ type: 'text', template: '{{> part}}', templateFormat: 'mustache', config: null, inputSchema: null },
} as const);

/** An answer whose first fault is at this line. */
const faultAt = (path: string) => ({ status: 422, body: { errors: { 0: { path } } } });

const toLines = (lines: readonly object[]) => lines.map((line) => JSON.stringify(line)).join('\n');
const gzipped = (text: string) => new Uint8Array(gzipSync(text));

/** An upload that has begun and is not over; `finish` sends the rest. */
function openUpload({ id, key }: ProjectOfTest, begin: string) {
  const upload = request(`${it.api.url}/api/projects/${id}/prompts/import`, {
    method: 'POST',
    headers: { 'X-API-Key': key, 'Content-Type': 'application/x-ndjson', Expect: '100-continue' },
  });
  const status = new Promise<number | undefined>((resolve, reject) => {
    upload.once('response', (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    });
    upload.once('error', reject);
  });
  upload.flushHeaders();
  const begun = once(upload, 'continue').then(() => upload.write(begin));
  return { begun, status, finish: (rest: string) => upload.end(rest), abort: () => upload.destroy() };
}

/** An upload that holds the place of its workspace, and what the next one is answered. */
const holdPlace = (project: ProjectOfTest, begin: string) =>
  until('an upload has its place', 20_000, async () => {
    const upload = openUpload(project, begin);
    upload.status.catch(() => undefined);
    await upload.begun;
    const next = await imported(project, '');
    if (next.status === 429) return { upload, next };
    // The other way round, this one was the first.
    upload.abort();
    return false;
  });

describe('what an import may cost', () => {
  test('blank lines beyond the limit of lines are refused at once, and hold up nobody', async () => {
    const target = await newProject(it.api);
    const body = gzipped('\n'.repeat(40 * 1024 * 1024));
    await imported(target, gzipped('\n'.repeat(1_000)));
    const delay = monitorEventLoopDelay({ resolution: 5 });
    delay.enable();
    const startedAtMs = performance.now();
    const answer = await imported(target, body, '?dry_run=true');
    const tookMs = performance.now() - startedAtMs;
    delay.disable();
    expect(answer).toMatchObject({ status: 413, body: { code: 'body_too_large' } });
    expect(answer.body.detail).toMatch(/100000 lines/);
    expect(tookMs).toBeLessThan(3_000);
    expect(delay.max / 1e6).toBeLessThan(250);
  });

  test('more bytes than it may have inflated are refused, and nothing of it is there', async () => {
    const target = await newProject(it.api);
    const small = `${toLines([itemLine('prompt', 'first'), promptVersion('first', 1, 'x')])}\n`;
    const oneMebibyte = gzipSync(`${' '.repeat(1024 * 1024 - 1)}\n`);
    const body = new Uint8Array(Buffer.concat([gzipSync(small), ...Array<Buffer>(256).fill(oneMebibyte)]));
    const answer = await imported(target, body);
    expect(answer).toMatchObject({ status: 413, body: { code: 'body_too_large' } });
    expect(answer.body.detail).toMatch(/268435456 bytes after decompression/);
    expect(await imported(target, small)).toMatchObject({
      status: 200,
      body: { prompts: { created: 1, unchanged: 0 } },
    });
  });

  test('a line of very many values is refused before it is parsed', async () => {
    const target = await newProject(it.api);
    const config = `{"a":[${'{},'.repeat(600_000)}{}]}`;
    const line = JSON.stringify(promptVersion('a', 1, 'x', { config: 0 })).replace('"config":0', `"config":${config}`);
    const answer = await imported(target, gzipped(`${toLines([itemLine('prompt', 'a')])}\n${line}`));
    expect(answer).toMatchObject(faultAt('line 2'));
    expect(answer.body.errors[0]?.message).toMatch(/values and keys\. At most 42000/);
  });

  test('a line over 2 MiB is refused with the limit, and the line of the largest version is not', async () => {
    const target = await newProject(it.api);
    const config = { description: 'x'.repeat(262_000) };
    const inputSchema = { description: 'x'.repeat(65_000) };
    const content = { type: 'text', template: '\u0001'.repeat(262_144), templateFormat: 'plain' } as const;
    const largest = promptVersion('a', 1, content.template, {
      ...{ config, input_schema: inputSchema, commit_message: '\u0001'.repeat(2_000) },
      content_hash: hashOf(promptKind, { ...content, config, inputSchema }),
    });
    const lines = [itemLine('prompt', 'a'), largest];
    expect(Buffer.byteLength(JSON.stringify(largest))).toBeGreaterThan(1.8 * 1024 * 1024);
    expect(await imported(target, gzipped(toLines(lines)))).toMatchObject({ status: 200 });
    const over = toLines([itemLine('prompt', 'b'), promptVersion('b', 1, 'x'.repeat(2_300_000))]);
    const answer = await imported(target, gzipped(over));
    expect(answer.status).toBe(413);
    expect(answer.body.detail).toBe('Line 2 has more than 2097152 bytes, which is the limit for a line');
  });

  test('an idle upload holds no connection to the database, and the workspace has no second import meanwhile', async () => {
    const [slow, other] = [await newProject(it.api), await newProject(it.api)];
    const { upload, next } = await holdPlace(slow, `${toLines([itemLine('prompt', 'idle')])}\n`);
    expect(next.body.code).toBe('workspace_busy');
    expect(Number(next.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    // Imports of other files are in this table for moments. This one would stay in it.
    await until('no import holds a connection', 10_000, async () => {
      const { rows } = await it.api.postgres.raw<{ rows: object[] }>(
        "select query from pg_stat_activity where state = 'idle in transaction' and query like '%staged_items%'",
      );
      return rows.length === 0;
    });
    expect((await imported(other, toLines([]))).status).toBe(200);
    upload.finish(toLines([promptVersion('idle', 1, 'x')]));
    expect(await upload.status).toBe(200);
    expect((await imported(slow, toLines([]))).status).toBe(200);
  });

  test('an upload whose client leaves gives its place back', async () => {
    const target = await newProject(it.api);
    const { upload } = await holdPlace(target, '\n');
    upload.abort();
    await until('its place is free', 10_000, async () => (await imported(target, '')).status === 200);
  });
});

test('an import whose client leaves while it is stored ends, and stores nothing', async () => {
  const target = await newProject(it.api);
  const prompts = Array.from({ length: 3_000 }, (_, index) => [
    itemLine('prompt', `p${index}`),
    promptVersion(`p${index}`, 1, '{{> part}}', { template_format: 'mustache', content_hash: usingPart }),
  ]);
  const lines = toLines([itemLine('part', 'part'), partVersion('part', 1, 'x'), ...prompts.flat()]);
  const leaving = new AbortController();
  const left = fetch(`${it.api.url}/api/projects/${target.id}/prompts/import`, {
    method: 'POST',
    headers: { 'X-API-Key': target.key, 'Content-Type': 'application/x-ndjson' },
    body: lines,
    signal: leaving.signal,
  }).catch(() => 'left');
  await until('the references are checked', 20_000, async () => {
    const { rows } = await it.api.postgres.raw(
      `select from pg_stat_activity where datname = current_database() and query like '%reached%' and pid <> pg_backend_pid()`,
    );
    return rows.length > 0;
  });
  leaving.abort();
  expect(await left).toBe('left');
  await until('its place is free', 10_000, async () => (await imported(target, '')).status === 200);
  const { body } = await it.api.call('listPrompts', { key: target.key, params: { project_id: target.id } });
  expect(body).toMatchObject({ data: [] });
});

describe('what clients that are slow may hold', () => {
  test('exports that nobody reads, and those that wait for them, hold no place of other requests', async () => {
    const target = await newProject(it.api);
    // More than the buffers of a connection take.
    const versions = Array.from({ length: 16 }, (_, index) => promptVersion('a', index + 1, '\u0001'.repeat(262_144)));
    const lines = toLines([itemLine('prompt', 'a', { versions: versions.length }), ...versions]);
    expect(await imported(target, gzipped(lines))).toMatchObject({ status: 200 });
    const leaving = new AbortController();
    const open = () =>
      fetch(`${it.api.url}/api/projects/${target.id}/prompts/export`, {
        headers: { 'X-API-Key': target.key },
        signal: leaving.signal,
      });
    const unread = await open();
    expect(unread.status).toBe(200);
    const ended = () => 'an export did not wait any longer';
    const waiting = Array.from({ length: 8 }, () => open().then(ended, ended));
    const options = { key: target.key, params: { project_id: target.id } };
    // One of these comes after all exports have begun to wait.
    for (let reads = 0; reads < 20; reads++) {
      expect(await Promise.race([it.api.call('listPrompts', options), ...waiting])).toMatchObject({ status: 200 });
    }
    leaving.abort();
    await Promise.all(waiting);
  });

  test('endpoints that read or write as slowly as their client are in no lane of other requests', () => {
    const raw = it.api.process.endpoints.filter(({ kind }) => kind === 'raw');
    const inLanes = raw.filter(({ rateClass, lane }) => ['read', 'write'].includes(rateClass) && lane !== 'none');
    expect(raw.length).toBeGreaterThan(2);
    expect(inLanes.map(({ operationId }) => operationId)).toEqual([]);
  });
});

describe('what an import may say', () => {
  test.each(['config', 'input_schema'])('a %s over 256 KiB as JSON is refused with its line', async (field) => {
    const version = promptVersion('a', 1, 'x', { [field]: { description: 'x'.repeat(262_144) } });
    const answer = await imported(await newProject(it.api), toLines([itemLine('prompt', 'a'), version]));
    expect(answer).toMatchObject(faultAt('line 2'));
    expect(answer.body.errors[0]?.message).toBe(`${field}: must have at most 262144 bytes as JSON`);
  });

  test.each([
    ['the year 0 of an item', [itemLine('prompt', 'a', { created_at: '0000-01-01T00:00:00.000Z' })], 1],
    ['the year 0 of an update', [itemLine('prompt', 'a', { updated_at: '0000-12-31T23:59:59.999Z' })], 1],
    [
      'the year 0 of a version',
      [itemLine('prompt', 'a'), promptVersion('a', 1, 'x', { created_at: '0000-01-01T00:00:00.000Z' })],
      2,
    ],
    [
      'a time that would be rounded into the year 10000',
      [itemLine('prompt', 'a'), promptVersion('a', 1, 'x', { created_at: '9999-12-31T23:59:59.9999999Z' })],
      2,
    ],
  ])('%s is refused with its line', async (_, lines, line) => {
    const answer = await imported(await newProject(it.api), toLines(lines));
    expect(answer).toMatchObject(faultAt(`line ${line}`));
    expect(answer.body.errors[0]?.message).toMatch(/0001 to 9999/);
  });

  test.each(['0001-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z'])(
    'the time %s comes back as it was',
    async (time) => {
      const target = await newProject(it.api);
      const lines = [
        itemLine('prompt', 'a', { created_at: time, updated_at: time }),
        promptVersion('a', 1, 'x', { created_at: time }),
      ];
      expect((await imported(target, toLines(lines))).status).toBe(200);
      const answer = await fetch(`${it.api.url}/api/projects/${target.id}/prompts/export`, {
        headers: { 'X-API-Key': target.key },
      });
      const back = (await answer.text())
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as object);
      expect(back).toEqual(lines);
    },
  );

  test('more labels than an item may have are refused, in one import or added to what is there', async () => {
    const target = await newProject(it.api);
    const labels = (count: number, from = 0) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`l${from + index}`, 1]));
    const lines = (count: number) =>
      toLines([itemLine('prompt', 'a', { labels: labels(count) }), promptVersion('a', 1, 'x')]);
    expect(await imported(target, lines(51))).toMatchObject(faultAt('line 1'));
    expect((await imported(target, lines(50))).status).toBe(200);
    const more = toLines([
      itemLine('prompt', 'a', { labels: labels(1, 50), versions: 2 }),
      promptVersion('a', 1, 'x'),
      promptVersion('a', 2, 'y'),
    ]);
    const answer = await imported(target, more);
    expect(answer).toMatchObject(faultAt('line 1'));
    expect(answer.body.errors[0]?.message).toMatch(/51 labels\. At most 50/);
    const options = { key: target.key, params: { project_id: target.id, prompt_id: 'a', label: 'l50' } };
    expect((await it.api.call('putPromptLabel', { ...options, body: { version: 1 } })).status).toBe(422);
  });

  test('a version of a part that claims to be of an optimization is refused', async () => {
    const target = await newProject(it.api);
    const claimed = { ...partVersion('tone', 1, 'a'), kind: 'optimization' };
    expect(await imported(target, toLines([itemLine('part', 'tone'), claimed]))).toMatchObject({ status: 422 });
  });

  test('what it says of author, kind and optimization is kept and marked as imported, by whom and when', async () => {
    const target = await newProject(it.api);
    const claimed = { kind: 'optimization', optimization_run_id: 'opt_other', created_at: '2001-01-01T00:00:00.000Z' };
    const before = Date.now();
    await imported(target, toLines([itemLine('prompt', 'a'), promptVersion('a', 1, 'x', claimed)]));
    const options = { key: target.key, params: { project_id: target.id, prompt_id: 'a' } };
    const { body } = await it.api.call<{
      author: object;
      kind: string;
      imported: { by: { type: string }; at: string };
    }>('getPrompt', options);
    expect(body).toMatchObject({ author, kind: 'optimization', imported: { by: { type: 'api_key' } } });
    expect(Date.parse(body.imported.at)).toBeGreaterThan(before - 60_000);
    const updated = await it.api.call<{ imported: unknown }>('updatePrompt', { ...options, body: { template: 'y' } });
    expect(updated.body.imported).toBeNull();
  });

  test('the audit log names what it brought', async () => {
    const target = await newProject(it.api);
    await imported(
      target,
      toLines([
        itemLine('part', 'tone', { versions: 2 }),
        partVersion('tone', 1, 'a'),
        partVersion('tone', 2, 'b'),
        itemLine('prompt', 'a'),
        promptVersion('a', 1, 'x'),
      ]),
    );
    const log = await it.api.admin<{ data: { details: Record<string, object> }[] }>(
      'listAuditLog',
      { params: { workspace_id: target.workspaceId }, query: { action: 'prompts.imported' } },
      200,
    );
    expect(log.data[0]?.details).toMatchObject({
      parts: { changed: [{ id: expect.stringMatching(/^prt_/), slug: 'tone', versions: [0, 2] }], not_named: 0 },
      prompts: { changed: [{ id: expect.stringMatching(/^prm_/), slug: 'a', versions: [0, 1] }], not_named: 0 },
    });
  });
});

describe('a cycle of parts is refused with its path', () => {
  test.each([
    [
      'behind labels',
      [
        itemLine('part', 'a', { versions: 2, labels: { live: 1 } }),
        partVersion('a', 1, '{{> b@live}}'),
        partVersion('a', 2, 'ends'),
        itemLine('part', 'b', { versions: 2, labels: { live: 1 } }),
        partVersion('b', 1, '{{> a@live}}'),
        partVersion('b', 2, 'ends'),
      ],
    ],
    [
      'behind numbers',
      [
        itemLine('part', 'a', { versions: 2 }),
        partVersion('a', 1, '{{> b@1}}'),
        partVersion('a', 2, 'ends'),
        itemLine('part', 'b', { versions: 2 }),
        partVersion('b', 1, '{{> a@1}}'),
        partVersion('b', 2, 'ends'),
      ],
    ],
  ])('%s', async (_, lines) => {
    const target = await newProject(it.api);
    const answer = await imported(target, toLines(lines));
    expect(answer).toMatchObject({ status: 422, body: { code: 'part_cycle' } });
    expect(answer.body.detail).toMatch(/a > b > a|b > a > b/);
  });

  test('of a part that takes over a slug which its own old version is named by', async () => {
    const target = await newProject(it.api);
    const options = { key: target.key, params: { project_id: target.id } };
    const body = { name: 'First', slug: 'first', template: '{{> later@1}}' };
    const created = await it.api.call<{ id: string }>('createPart', { ...options, body });
    const params = { ...options.params, part_id: created.body.id };
    await it.api.call('updatePart', { ...options, params, body: { template: 'ends' } });
    const renamed = await it.api.call('updatePart', { ...options, params, body: { slug: 'later' } });
    expect({ status: renamed.status, code: renamed.body.code }).toEqual({ status: 422, code: 'part_cycle' });
  });
});

test('a version whose slug is of two million characters is refused without repeating them', async () => {
  const target = await newProject(it.api);
  const lines = [itemLine('part', 'a'), partVersion('a', 1, 'ends'), partVersion(' '.repeat(2_000_000), 1, 'ends')];
  const answer = await imported(target, toLines(lines));
  expect(answer).toMatchObject(faultAt('line 3'));
  expect(JSON.stringify(answer.body).length).toBeLessThan(1_000);
});
