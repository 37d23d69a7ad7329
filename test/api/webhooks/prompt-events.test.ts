import { describe, expect, test } from 'vitest';
import { eventData } from '../../../src/domains/events/event.ts';
import { newProject } from '../../support/api.ts';
import { usePromptApi, type WireItem } from '../../support/prompt-api.ts';

const it = usePromptApi();

/** The events of an item in their order, checked against their schemas. */
async function eventsOf(field: 'prompt_id' | 'project_id', id: string) {
  const rows = await it.api.postgres('events').whereRaw(`data ->> '${field}' = ?`, [id]).orderBy('seq');
  return rows.map(({ type, data, project_id, workspace_id }) => {
    const known = eventData[type as keyof typeof eventData];
    expect(known.parse(data)).toEqual(data);
    expect([project_id, workspace_id]).toEqual([data.project_id, expect.stringMatching(/^wsp_/)]);
    const { project_id: _project, prompt_id: _prompt, slug: _slug, name: _name, ...rest } = data;
    return [type, rest];
  });
}

const created = (version: number, kind: string, parent_version: number | null) => [
  ...['prompt.version_created', { version, kind, parent_version }],
];
const moved = (label: string, from_version: number | null, to_version: number | null) => [
  ...['prompt.label_moved', { label, from_version, to_version }],
];

describe('a prompt', () => {
  test('records its creation, updates, rollbacks, label moves and deletion, in their order', async () => {
    const { id } = await it.newPrompt({ labels: ['staging'] });
    await it.ok('updatePrompt', id, { body: { template: 'Hello {{who}}', labels: ['staging', 'production'] } });
    await it.ok('updatePrompt', id, { body: { labels: ['canary'] } });
    await it.ok('rollbackPrompt', id, { body: { version: 1 } });
    await it.ok('putPromptLabel', id, { params: { prompt_id: id, label: 'production' }, body: { version: 3 } });
    await it.ok('deletePromptLabel', id, { params: { prompt_id: id, label: 'canary' } });
    await it.ok('deletePrompt', id);
    expect(await eventsOf('prompt_id', id)).toEqual([
      created(1, 'create', null),
      moved('staging', null, 1),
      created(2, 'update', 1),
      moved('staging', 1, 2),
      moved('production', null, 2),
      moved('canary', null, 2),
      created(3, 'rollback', 2),
      moved('production', 2, 3),
      moved('canary', 2, null),
      ['prompt.deleted', {}],
    ]);
  });

  test('records nothing when nothing of it changed, nor when only its metadata did', async () => {
    const { id } = await it.newPrompt({ labels: ['staging'] });
    const before = await eventsOf('prompt_id', id);
    await it.ok('updatePrompt', id, { body: { template: 'Hi {{who}}', labels: ['staging'] } });
    await it.ok('updatePrompt', id, { body: { name: 'another name' } });
    await it.ok('putPromptLabel', id, { params: { prompt_id: id, label: 'staging' }, body: { version: 1 } });
    expect(await eventsOf('prompt_id', id)).toEqual(before);
  });

  test('records nothing of a change that was refused', async () => {
    const { id } = await it.newPrompt();
    const before = await eventsOf('prompt_id', id);
    expect((await it.call('updatePrompt', id, { body: { template: 'x', base_version: 7 } })).status).toBe(409);
    expect((await it.call('updatePrompt', id, { body: { template: '{{#open}}' } })).status).toBe(422);
    expect(await eventsOf('prompt_id', id)).toEqual(before);
  });

  test('carries its new name and slug', async () => {
    const { id } = await it.newPrompt();
    const body = { name: 'Renamed', slug: `renamed-${id.slice(-6)}`, template: 'other' };
    await it.ok<WireItem>('updatePrompt', id, { body });
    const row = await it.api
      .postgres('events')
      .whereRaw(`data ->> 'prompt_id' = ?`, [id])
      .orderBy('seq', 'desc')
      .first();
    expect(row.data).toMatchObject({ prompt_id: id, name: body.name, slug: body.slug });
  });
});

test('a part records nothing', async () => {
  const { id } = await it.newPart({ labels: ['staging'] });
  await it.ok('updatePart', id, { body: { template: 'other' } });
  await it.ok('deletePart', id);
  const rows = await it.api.postgres('events').whereRaw('data::text like ?', [`%${id}%`]);
  expect(rows).toEqual([]);
});

describe('an import', () => {
  async function importLines(projectId: string, key: string, lines: string, query = '') {
    const response = await fetch(`${it.api.url}/api/projects/${projectId}/prompts/import${query}`, {
      ...{ method: 'POST', body: lines },
      headers: { 'X-API-Key': key, 'Content-Type': 'application/x-ndjson' },
    });
    expect(response.status, await response.clone().text()).toBe(200);
  }

  test('records every added version and label, and nothing when it adds nothing or is a dry run', async () => {
    const [from, to] = [await newProject(it.api), await newProject(it.api)];
    const call = (operationId: string, prompt_id: string, body?: object) =>
      it.api.call<WireItem>(operationId, { key: from.key, params: { project_id: from.id, prompt_id }, body });
    const { body } = await call('createPrompt', '', { name: 'a', type: 'text', template: 'one', labels: ['staging'] });
    await call('updatePrompt', body.id, { template: 'two', labels: ['production'] });
    const exported = (await call('exportPrompts', '')).text;
    await importLines(to.id, to.key, exported, '?dry_run=true');
    expect(await eventsOf('project_id', to.id)).toEqual([]);
    await importLines(to.id, to.key, exported);
    const expected = [
      created(1, 'create', null),
      created(2, 'update', 1),
      moved('staging', null, 1),
      moved('production', null, 2),
    ];
    expect(await eventsOf('project_id', to.id)).toEqual(expected);
    await importLines(to.id, to.key, exported);
    expect(await eventsOf('project_id', to.id)).toEqual(expected);
    await call('updatePrompt', body.id, { template: 'three', labels: ['canary'] });
    await importLines(to.id, to.key, (await call('exportPrompts', '')).text);
    expect(await eventsOf('project_id', to.id)).toEqual([
      ...expected,
      created(3, 'update', 2),
      moved('canary', null, 3),
    ]);
  });
});
