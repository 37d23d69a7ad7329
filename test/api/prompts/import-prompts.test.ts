import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, inject, test } from 'vitest';
import { lockPartGraph } from '../../../src/domains/parts/index.ts';
import { isStorableText } from '../../../src/lib/storable-text.ts';
import { connectPostgres } from '../../../src/stores/postgres/client.ts';
import { newProject, type ProjectOfTest } from '../../support/api.ts';
import { usePromptApi } from '../../support/prompt-api.ts';
import { until } from '../../support/until.ts';

const it = usePromptApi();

interface Report {
  dry_run: boolean;
  code?: string;
  parts: Record<string, number>;
  prompts: Record<string, number>;
  conflicts: { line: number }[];
  errors: { path: string; message: string }[];
}

async function exported({ id, key }: ProjectOfTest): Promise<string> {
  const answer = await fetch(`${it.api.url}/api/projects/${id}/prompts/export`, { headers: { 'X-API-Key': key } });
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toBe('application/x-ndjson');
  return answer.text();
}

async function imported({ id, key }: ProjectOfTest, body: string | Uint8Array<ArrayBuffer>, query = '', headers = {}) {
  const answer = await fetch(`${it.api.url}/api/projects/${id}/prompts/import${query}`, {
    method: 'POST',
    headers: { 'X-API-Key': key, 'Content-Type': 'application/x-ndjson', ...headers },
    body,
  });
  return { status: answer.status, body: (await answer.json()) as Report };
}

/** Something of everything: parts in parts, rollbacks, labels, both types. */
async function filled(): Promise<ProjectOfTest> {
  const project = await newProject(it.api);
  const options = { key: project.key, params: { project_id: project.id } };
  const part = (body: object) => it.ok('createPart', '', { ...options, body });
  await part({ name: 'Outer', slug: 'outer', template: '{{> tone tone="x"}}', tags: ['t'] });
  await part({ name: 'Tone', slug: 'tone', template: 'in a {{tone}} tone', labels: ['live'] });
  const prompt = (body: object) => it.ok('createPrompt', '', { ...options, body });
  await prompt({
    name: 'A',
    slug: 'a',
    type: 'text',
    template: '{{> outer}} é\u2028',
    labels: ['production'],
    commit_message: 'one',
  });
  await it.ok('updatePrompt', 'a', { ...options, body: { template: 'two', config: { z: 1, a: [1, null] } } });
  await it.ok('rollbackPrompt', 'a', { ...options, body: { version: 1 } });
  await prompt({
    name: 'B',
    slug: 'b',
    type: 'chat',
    messages: [{ placeholder: 'h' }, { role: 'user', content: '{{q}}' }],
  });
  return project;
}

describe('200', () => {
  test('an export that is imported elsewhere gives the same export, and again changes nothing', async () => {
    const lines = await exported(await filled());
    const target = await newProject(it.api);
    const first = await imported(target, lines);
    expect(first).toMatchObject({
      status: 200,
      body: {
        dry_run: false,
        parts: { created: 2, versions: 2 },
        prompts: { created: 2, versions: 4 },
        conflicts: [],
        errors: [],
      },
    });
    expect(await exported(target)).toBe(lines);
    const again = await imported(target, lines);
    expect(again.body).toMatchObject({ parts: { unchanged: 2, versions: 0 }, prompts: { unchanged: 2, versions: 0 } });
    expect(await exported(target)).toBe(lines);
  });

  test('what was imported works: parts are in use, spans would find the text', async () => {
    const target = await newProject(it.api);
    await imported(target, await exported(await filled()));
    const options = { key: target.key, params: { project_id: target.id } };
    expect((await it.call('deletePart', 'tone', options)).status).toBe(409);
    const rows = await it.api
      .postgres('prompt_versions')
      .where({ project_id: target.id })
      .whereNotNull('template_hash');
    expect(rows).toHaveLength(3);
    expect(await it.ok('updatePrompt', 'a', { ...options, body: { template: 'next' } })).toMatchObject({ version: 4 });
  });

  test('a dry run says the same and does nothing', async () => {
    const lines = await exported(await filled());
    const target = await newProject(it.api);
    expect((await imported(target, lines, '?dry_run=true')).body).toMatchObject({
      dry_run: true,
      parts: { created: 2 },
      prompts: { created: 2, versions: 4 },
    });
    expect(await exported(target)).toBe('');
  });

  test('versions behind the newest are added to what is there', async () => {
    const source = await filled();
    const target = await newProject(it.api);
    await imported(target, await exported(source));
    const options = { key: source.key, params: { project_id: source.id } };
    await it.ok('updatePrompt', 'a', { ...options, body: { template: 'four' } });
    const later = await imported(target, await exported(source));
    expect(later.body.prompts).toMatchObject({ updated: 1, unchanged: 1, versions: 1 });
    const there = await it.ok('getPrompt', 'a', { key: target.key, params: { project_id: target.id } });
    expect(there).toMatchObject({ version: 4, template: 'four' });
  });

  test('a gzip body is taken', async () => {
    const lines = await exported(await filled());
    const target = await newProject(it.api);
    const answer = await imported(target, new Uint8Array(gzipSync(lines)), '', { 'Content-Encoding': 'gzip' });
    expect(answer.status).toBe(200);
    expect(await exported(target)).toBe(lines);
  });

  test('import after export is the identity, whatever the texts are', async () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 40 }).filter((each) => isStorableText(each));
    const prompt = fc.record({
      name: text.filter((each) => each.trim() !== ''),
      description: fc.option(text),
      tags: fc.uniqueArray(
        text.map((each) => each.trim()).filter((each) => each !== ''),
        { maxLength: 3 },
      ),
      template: text,
      config: fc.option(
        fc.dictionary(
          fc.oneof(text, fc.constant('__proto__')),
          fc.oneof(text, fc.double({ noNaN: true, noDefaultInfinity: true }), fc.boolean()),
        ),
      ),
      edits: fc.array(text, { maxLength: 3 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(prompt, { minLength: 1, maxLength: 3 }), async (prompts) => {
        const [source, target] = [await newProject(it.api), await newProject(it.api)];
        const options = { key: source.key, params: { project_id: source.id } };
        for (const { edits, ...body } of prompts) {
          const created = { ...body, type: 'text', template_format: 'plain' };
          const { id } = await it.ok('createPrompt', '', { ...options, body: created });
          for (const template of edits) await it.ok('updatePrompt', id, { ...options, body: { template } });
        }
        const lines = await exported(source);
        expect((await imported(target, lines)).status).toBe(200);
        expect(await exported(target)).toBe(lines);
      }),
      { numRuns: 10 },
    );
  }, 60_000);
});

describe('400', () => {
  test.each(['?dry_run=maybe', '?dryrun=true'])('%s is refused before anything is read', async (query) => {
    const target = await newProject(it.api);
    expect((await imported(target, await exported(await filled()), query)).status).toBe(400);
    expect(await exported(target)).toBe('');
  });

  test('a body that is not the gzip it says it is', async () => {
    const target = await newProject(it.api);
    const answer = await imported(target, 'no gzip', '', { 'Content-Encoding': 'gzip' });
    expect(answer).toMatchObject({ status: 400, body: { code: 'corrupt_body' } });
  });
});

describe('409', () => {
  test('a version that is there with another content undoes everything, naming its line', async () => {
    const lines = await exported(await filled());
    const target = await newProject(it.api);
    const options = { key: target.key, params: { project_id: target.id } };
    await it.ok('createPrompt', '', { ...options, body: { name: 'x', slug: 'b', type: 'text', template: 'other' } });
    const before = await exported(target);
    const line = lines.split('\n').findIndex((each) => each.includes('"record":"prompt_version","slug":"b"')) + 1;
    const answer = await imported(target, lines);
    expect(answer).toMatchObject({ status: 409, body: { code: 'conflict', errors: [{ path: `line ${line}` }] } });
    expect((await imported(target, lines, '?dry_run=true')).body.conflicts).toMatchObject([{ line }]);
    expect(await exported(target)).toBe(before);
  });

  test('a prompt that is created with a slug of the import while it runs: nothing is imported, and again it is', async () => {
    const lines = await exported(await filled());
    const target = await newProject(it.api);
    const options = { key: target.key, params: { project_id: target.id } };
    const owner = connectPostgres(inject('databaseUrl'), 1);
    try {
      let importing: ReturnType<typeof imported> | undefined;
      await owner.transaction(async (transaction) => {
        await lockPartGraph(transaction, target.id, 'change');
        importing = imported(target, lines);
        // It has looked for the prompts, and waits before it looks for the parts.
        await until('the import waits', 10_000, async () => {
          const waiting = await transaction('pg_locks')
            .where({ locktype: 'advisory', granted: false })
            .whereRaw('(classid::bigint << 32) | objid::bigint = hashtextextended(?, 0)', [`parts of ${target.id}`]);
          return waiting.length > 0;
        });
        await it.ok('createPrompt', '', { ...options, body: { name: 'x', slug: 'a', type: 'text', template: 'x' } });
      });
      expect(await importing).toMatchObject({ status: 409, body: { code: 'conflict' } });
      expect((await exported(target)).split('\n')).toHaveLength(3);
      await it.ok('deletePrompt', 'a', options);
      expect(await imported(target, lines)).toMatchObject({ status: 200, body: { prompts: { created: 2 } } });
    } finally {
      await owner.destroy();
    }
  });
});

describe('413', () => {
  test('a line over its limit names it', async () => {
    const target = await newProject(it.api);
    const answer = await imported(target, new Uint8Array(gzipSync('x'.repeat(5 * 1024 * 1024))), '', {
      'Content-Encoding': 'gzip',
    });
    expect(answer).toMatchObject({ status: 413, body: { code: 'body_too_large' } });
  });
});

describe('415', () => {
  test('JSON is not lines of JSON', async () => {
    const target = await newProject(it.api);
    expect((await imported(target, '{}', '', { 'Content-Type': 'application/json' })).status).toBe(415);
  });
});

describe('422', () => {
  const change = (at: number, edit: (line: string) => string | undefined) => (lines: string[]) =>
    lines.flatMap((line, index) => (index === at ? (edit(line) ?? []) : line));
  const cases: [string, (lines: string[]) => string[], RegExp][] = [
    ['no JSON', change(1, () => '{'), /not valid JSON/],
    ['an unknown field', change(1, (line) => line.replace('{', '{"x":1,')), /does not exist/],
    ['a hash of another content', change(1, (line) => line.replace('{{> tone', '{{> tune')), /content_hash/],
    ['a version left out', change(1, () => undefined), /must be version 1/],
    ['versions without their item', change(0, () => undefined), /must follow the line/],
    ['an item twice', (lines) => [...lines, lines[0] ?? '', lines[1] ?? ''], /repeats the/],
    [
      'a label at a version that is not there',
      change(0, (line) => line.replace('"labels":{}', '"labels":{"x":2}')),
      /label x/,
    ],
    [
      'a version that comes from a later one',
      change(1, (line) => line.replace('"parent_version":null', '"parent_version":1')),
      /version 1\. It cannot be derived from version 1/,
    ],
    [
      'a version that was rolled back from a later one',
      change(1, (line) => line.replace('"rolled_back_from":null', '"rolled_back_from":99')),
      /cannot be derived from version 99/,
    ],
    ['text that cannot be stored', change(0, (line) => line.replace('Outer', '\\u0000')), /cannot be stored/],
  ];
  test.each(cases)('%s is refused, naming the line, and nothing is imported', async (_, edit, message) => {
    const lines = (await exported(await filled())).trimEnd().split('\n');
    const target = await newProject(it.api);
    const answer = await imported(target, edit(lines).join('\n'));
    expect(answer.status, JSON.stringify(answer.body)).toBe(422);
    expect(answer.body.errors[0]?.path).toMatch(/^line \d+$/);
    expect(answer.body.errors[0]?.message).toMatch(message);
    expect(await exported(target)).toBe('');
  });

  test('a part that would make parts above it nest too deeply is refused, and stays as it was', async () => {
    const [source, target] = [await newProject(it.api), await newProject(it.api)];
    const part = (project: ProjectOfTest, slug: string, template: string) =>
      it.ok('createPart', '', {
        key: project.key,
        params: { project_id: project.id },
        body: { name: slug, slug, template },
      });
    for (const project of [source, target]) await part(project, 'level-1', 'the bottom');
    for (let level = 2; level <= 10; level++) await part(target, `level-${level}`, `{{> level-${level - 1}}}`);
    await part(source, 'below', 'new');
    const options = { key: source.key, params: { project_id: source.id } };
    await it.ok('updatePart', 'level-1', { ...options, body: { template: '{{> below}}' } });
    const before = await exported(target);
    const answer = await imported(target, await exported(source));
    expect(answer).toMatchObject({ status: 422, body: { code: 'template_limit' } });
    expect(await exported(target)).toBe(before);
  });
});
