import { describe, expect, test } from 'vitest';
import { promptKind } from '../../../src/domains/prompts/index.ts';
import { type Item, ItemCache } from '../../../src/domains/versioned/index.ts';
import { newId } from '../../../src/lib/ids.ts';
import type { Postgres } from '../../../src/stores/postgres/client.ts';

const invalidations = { connected: true, subscribe: () => undefined, onGap: () => undefined };
const project = { projectId: newId('prj'), workspaceId: 'wsp_one' };
const neighbor = { projectId: newId('prj'), workspaceId: 'wsp_neighbor' };

/** A cache over a database in which every item and version is there and has these columns; its reads are counted. */
function cacheOver(columns: object) {
  const state = { reads: 0 };
  const query = {
    where: () => query,
    whereNull: () => query,
    first: async () => {
      state.reads++;
      return { ...columns, created_at: new Date(), updated_at: new Date(), imported_at: null, imported_by_type: null };
    },
  };
  const postgres = Object.assign(() => query, { raw: () => '' }) as unknown as Postgres;
  return { state, cache: new ItemCache({ kind: promptKind, postgres, invalidations }) };
}

const itemRow = (description: string) => ({
  id: newId('prm'),
  project_id: project.projectId,
  description,
  tags: [],
  labels: [],
});

describe('the cached items', () => {
  const readTwice = async (description: string, count: number) => {
    const { state, cache } = cacheOver(itemRow(description));
    for (let at = 0; at < count; at++) await cache.read(project, `item-${at}`);
    await cache.read(project, 'item-0');
    return state.reads;
  };

  test('small ones are read once', async () => expect(await readTwice('short', 4_000)).toBe(4_000));

  test('large ones have at most 32 MiB together, so the oldest are read again', async () => {
    expect(await readTwice('x'.repeat(10_000), 2_000)).toBe(2_001);
  });
});

describe('the cached versions', () => {
  const readTwice = async (template: string, config: object, count: number) => {
    const { state, cache } = cacheOver({ template, config, template_format: 'plain', input_schema: null });
    const item = { id: newId('prm'), projectId: project.projectId } as Item;
    for (let number = 1; number <= count; number++) await cache.readVersion(project, item, number);
    await cache.readVersion(project, item, 1);
    return state.reads;
  };

  test('small ones are read once', async () => expect(await readTwice('Hi', {}, 900)).toBe(900));

  test('large ones have at most 32 MiB together, so the oldest are read again', async () => {
    expect(await readTwice('x'.repeat(65_000), {}, 300)).toBe(301);
  });

  test('those of very many values count as large, however short they are as JSON', async () => {
    expect(await readTwice('Hi', { list: Array.from({ length: 3_000 }, () => ({})) }, 300)).toBe(301);
  });

  test('one of 262,144 characters is read every time', async () => {
    expect(await readTwice('x'.repeat(262_144), {}, 1)).toBe(2);
  });
});

describe('a workspace keeps its own while another one reads ever new ones', () => {
  test('items', async () => {
    const { state, cache } = cacheOver(itemRow('x'.repeat(10_000)));
    await cache.read(neighbor, 'mine');
    for (let at = 0; at < 3_000; at++) await cache.read(project, `item-${at}`);
    const { reads } = state;
    await cache.read(neighbor, 'mine');
    expect(state.reads).toBe(reads);
  });

  test('versions', async () => {
    const { state, cache } = cacheOver({
      ...{ template: 'x'.repeat(65_000), config: {} },
      ...{ template_format: 'plain', input_schema: null },
    });
    const item = { id: newId('prm'), projectId: project.projectId } as Item;
    const mine = { id: newId('prm'), projectId: neighbor.projectId } as Item;
    await cache.readVersion(neighbor, mine, 1);
    for (let number = 1; number <= 600; number++) await cache.readVersion(project, item, number);
    const { reads } = state;
    await cache.readVersion(neighbor, mine, 1);
    expect(state.reads).toBe(reads);
  });
});
