import { type IdPrefix, isId, type ProjectId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { Item, Metadata } from './item.ts';
import type { ItemKind } from './kind.ts';

interface Row {
  id: `${IdPrefix}_${string}`;
  project_id: ProjectId;
  slug: string;
  name: string;
  description: string | null;
  tags: string[];
  latest_version: number;
  revision: number;
  labels: { label: string; version: number; updated_at: string }[] | null;
  created_at: Date;
  updated_at: Date;
  created_at_us: string;
  updated_at_us: string;
  [fixedColumn: string]: unknown;
}

/** Returns the columns that {@link toItem} needs. */
export function itemColumns(postgres: Postgres, { tables, idColumn, fixedColumns }: ItemKind) {
  const { items, labels } = tables;
  return [
    ...['id', 'project_id', 'slug', 'name', 'description', 'tags'],
    ...fixedColumns,
    ...['latest_version', 'revision', 'created_at', 'updated_at'],
    postgres.raw(`(extract(epoch from ${items}.created_at) * 1000000)::bigint::text as created_at_us`),
    postgres.raw(`(extract(epoch from ${items}.updated_at) * 1000000)::bigint::text as updated_at_us`),
    postgres.raw(
      `(select json_agg(json_build_object('label', label, 'version', version, 'updated_at', ${labels}.updated_at) order by label)
        from ${labels} where ${labels}.${idColumn} = ${items}.id) as labels`,
    ),
  ];
}

/** Finds a live item by its id or slug. */
export async function findItem(
  postgres: Postgres,
  kind: ItemKind,
  projectId: ProjectId,
  idOrSlug: string,
): Promise<Item | undefined> {
  const row = await postgres(kind.tables.items)
    .where({ project_id: projectId, ...byIdOrSlug(kind, idOrSlug) })
    .whereNull('deleted_at')
    .first<Row | undefined>(itemColumns(postgres, kind));
  return row && toItem(kind, row);
}

/**
 * Locks a live item by its id or slug until the transaction ends, so that no other transaction changes it.
 */
export async function lockItem(
  transaction: Postgres,
  kind: ItemKind,
  projectId: ProjectId,
  idOrSlug: string,
): Promise<Item | undefined> {
  const locked = await transaction(kind.tables.items)
    .where({ project_id: projectId, ...byIdOrSlug(kind, idOrSlug) })
    .whereNull('deleted_at')
    .forUpdate()
    .first<{ id: string } | undefined>('id');
  // Read after the lock is taken: the locking statement sees other tables as they were before it
  // waited.
  return locked && findItem(transaction, kind, projectId, locked.id);
}

/** Stores a new item at version 1. Returns false when its slug is taken. */
export async function insertItem(
  transaction: Postgres,
  kind: ItemKind,
  item: Metadata & Pick<Item, 'id' | 'projectId'>,
  fixedColumns: Readonly<Record<string, string>>,
): Promise<boolean> {
  const inserted: unknown[] = await transaction(kind.tables.items)
    .insert({
      id: item.id,
      project_id: item.projectId,
      slug: item.slug,
      name: item.name,
      description: item.description,
      tags: item.tags,
      latest_version: 1,
      ...fixedColumns,
    })
    .onConflict(transaction.raw('(project_id, slug) where deleted_at is null'))
    .ignore()
    .returning('id');
  return inserted.length > 0;
}

/** Stores changes of a locked item and increments its revision. Undefined fields stay. */
export async function reviseItem(
  transaction: Postgres,
  kind: ItemKind,
  { id, projectId }: Item,
  changes: { readonly [K in keyof Metadata]?: Metadata[K] | undefined } & { deleted_at?: Date | null } = {},
): Promise<void> {
  const given = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
  await transaction(kind.tables.items)
    .where({ project_id: projectId, id })
    .update({
      ...given,
      revision: transaction.raw('revision + 1'),
      updated_at: transaction.raw('clock_timestamp()'),
    });
}

/**
 * Returns the largest number after `base-` among live slugs, and 1 if there is none. `base` has only
 * letters, digits and dashes. An advisory lock makes concurrent calls for the same base wait until
 * the transaction ends.
 */
export async function lockSlugNumber(
  postgres: Postgres,
  kind: ItemKind,
  projectId: ProjectId,
  base: string,
): Promise<number> {
  await postgres.raw('select pg_advisory_xact_lock(hashtextextended(?, 0))', [
    `slug ${kind.noun} ${projectId} ${base}`,
  ]);
  const found = await postgres(kind.tables.items)
    .where({ project_id: projectId })
    .whereNull('deleted_at')
    // The range is that of the prefix `base-` in the index on bytes.
    .whereRaw('slug collate "C" >= ? and slug collate "C" < ?', [`${base}-`, `${base}.`])
    .whereRaw('slug ~ ?', [`^${base}-[0-9]{1,9}$`])
    .first<{ last: number | null } | undefined>(
      postgres.raw('max(cast(substr(slug, ?) as integer)) as last', [base.length + 2]),
    );
  return found?.last ?? 1;
}

/**
 * Locks the most recently deleted item with this id or slug that was deleted at `after` or later.
 */
export async function lockDeletedItem(
  transaction: Postgres,
  kind: ItemKind,
  projectId: ProjectId,
  { idOrSlug, after }: { idOrSlug: string; after: Date },
): Promise<{ id: string; slug: string } | undefined> {
  return transaction(kind.tables.items)
    .where({ project_id: projectId, ...byIdOrSlug(kind, idOrSlug) })
    .where('deleted_at', '>=', after)
    .orderBy('deleted_at', 'desc')
    .forUpdate()
    .first<{ id: string; slug: string } | undefined>('id', 'slug');
}

/** Makes a deleted item live again. */
export async function reviveItem(transaction: Postgres, kind: ItemKind, projectId: ProjectId, id: string) {
  await transaction(kind.tables.items)
    .where({ project_id: projectId, id })
    .update({
      deleted_at: null,
      revision: transaction.raw('revision + 1'),
      updated_at: transaction.raw('clock_timestamp()'),
    });
}

/** A slug never has the shape of an id, so the name is unambiguous. */
function byIdOrSlug(kind: ItemKind, idOrSlug: string): { id: string } | { slug: string } {
  return isId(kind.idPrefix, idOrSlug) ? { id: idOrSlug } : { slug: idOrSlug };
}

/** Converts a row with the columns of {@link itemColumns} to an item. */
export function toItem({ fixedColumns }: ItemKind, row: Row): Item {
  return {
    fixed: Object.fromEntries(fixedColumns.map((column) => [column, row[column]])),
    id: row.id,
    projectId: row.project_id,
    slug: row.slug,
    name: row.name,
    description: row.description,
    tags: row.tags,
    latestVersion: row.latest_version,
    revision: row.revision,
    labels: (row.labels ?? []).map(({ label, version, updated_at }) => ({
      label,
      version,
      updatedAt: new Date(updated_at),
    })),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    createdAtUs: row.created_at_us,
    updatedAtUs: row.updated_at_us,
  };
}

export type ItemRow = Row;

/**
 * Returns whether a statement failed because a live item has the slug: unique_violation (23505) of
 * the index on live slugs.
 */
export function isSlugTaken(error: unknown): boolean {
  return (
    error instanceof Error &&
    'code' in error &&
    error.code === '23505' &&
    'constraint' in error &&
    String(error.constraint).endsWith('_live_slug')
  );
}
