import { connect, type Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { expectProblem, newProject, type ProjectOfTest } from '../../support/api.ts';
import { usePromptApi } from '../../support/prompt-api.ts';

const it = usePromptApi();

const exported = ({ id, key }: ProjectOfTest, query = {}) =>
  it.call('exportPrompts', '', { key, params: { project_id: id }, query });

async function linesOf(project: ProjectOfTest) {
  const { status, text, headers } = await exported(project);
  expect(status).toBe(200);
  expect(headers.get('content-type')).toBe('application/x-ndjson');
  return text.split('\n').filter((line) => line !== '');
}

describe('200', () => {
  test('parts before prompts, each by its slug and before all of its versions, oldest first', async () => {
    const project = await newProject(it.api);
    const options = { key: project.key, params: { project_id: project.id } };
    const newPrompt = (slug: string) =>
      it.ok('createPrompt', '', { ...options, body: { name: slug, slug, type: 'text', template: 'one' } });
    await newPrompt('z');
    await newPrompt('a');
    await it.ok('createPart', '', { ...options, body: { name: 'M', slug: 'm', template: 'x', labels: ['live'] } });
    await it.ok('updatePrompt', 'a', { ...options, body: { template: 'two', labels: ['production'] } });
    const lines = (await linesOf(project)).map((line) => JSON.parse(line));
    expect(lines.map(({ record, slug, version = '' }) => `${record} ${slug} ${version}`.trim())).toEqual([
      ...['part m', 'part_version m 1'],
      ...['prompt a', 'prompt_version a 1', 'prompt_version a 2', 'prompt z', 'prompt_version z 1'],
    ]);
    expect(lines[0]).toMatchObject({ labels: { live: 1 }, versions: 1 });
    expect(lines[2]).toMatchObject({ labels: { production: 2 }, versions: 2, type: 'text' });
  });

  test('what is deleted is left out, and a project without any is empty', async () => {
    const project = await newProject(it.api);
    const options = { key: project.key, params: { project_id: project.id } };
    expect(await linesOf(project)).toEqual([]);
    await it.ok('createPrompt', '', { ...options, body: { name: 'x', slug: 'x', type: 'text', template: 'x' } });
    expect(await linesOf(project)).toHaveLength(2);
    await it.ok('deletePrompt', 'x', options);
    expect(await linesOf(project)).toEqual([]);
  });
});

describe('200, while the clients of eight other workspaces do not read their exports', () => {
  test('an export begins after they had five seconds', { timeout: 120_000 }, async () => {
    const lines = await manyVersions();
    const sockets: Socket[] = [];
    for (let times = 0; times < 8; times++) {
      const project = await newProject(it.api);
      const url = `${it.api.url}/api/projects/${project.id}/prompts/import`;
      const headers = { 'X-API-Key': project.key, 'Content-Type': 'application/x-ndjson' };
      const imported = await fetch(url, { method: 'POST', headers, body: lines });
      expect(imported.status, await imported.text()).toBe(200);
      sockets.push(await unreadExport(project));
    }
    const answer = await exported(await newProject(it.api));
    expect(answer.status, answer.text).toBe(200);
    for (const socket of sockets) socket.destroy();
  });

  /** Returns an export that is larger than what the kernel keeps for a client that does not read. */
  async function manyVersions(): Promise<string> {
    const project = await newProject(it.api);
    const options = { key: project.key, params: { project_id: project.id } };
    const body = { name: 'Large', slug: 'large', type: 'text', template: 'x' };
    await it.ok('createPrompt', '', { ...options, body });
    for (let version = 2; version <= 25; version++) {
      const template = String.fromCodePoint(0x4e00 + version).repeat(250_000);
      await it.ok('updatePrompt', 'large', { ...options, body: { template } });
    }
    return (await exported(project)).text;
  }

  /** Requests an export and resolves when it has begun. */
  function unreadExport({ id, key }: ProjectOfTest): Promise<Socket> {
    const { hostname, port } = new URL(it.api.url);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined);
    socket.write(`GET /api/projects/${id}/prompts/export HTTP/1.1\r\nHost: x\r\nX-API-Key: ${key}\r\n\r\n`);
    return new Promise((resolve) => {
      socket.once('readable', () => resolve(socket));
    });
  }
});

describe('400', () => {
  test('it takes no parameters', async () => {
    expectProblem(await exported(it.project, { tag: 'x' }), 400, 'unknown_parameter');
  });
});

describe('404', () => {
  test("another project's key does not see it", async () => {
    const other = await newProject(it.api);
    expectProblem(await exported({ ...it.project, key: other.key }), 404, 'project_not_found');
  });
});
