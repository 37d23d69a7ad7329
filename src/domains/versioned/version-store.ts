import type { Postgres } from '../../stores/postgres/client.ts';
import type { Author, Item, Version, VersionKind } from './item.ts';
import type { Kind } from './kind.ts';
import { versionMax } from './params.schema.ts';

/** The data of a new version, except its number and time. */
export interface NewVersion<Content> {
  content: Content;
  /** `hashOf` the content. To compute it for large content takes many milliseconds. */
  contentHash: string;
  kind: VersionKind;
  author: Author;
  commitMessage: string | null;
  parentVersion: number | null;
  rolledBackFrom?: number;
  optimizationRunId?: string;
}

/** The common columns of a version, for prompts and parts. */
interface Row {
  version: number;
  content_hash: string;
  commit_message: string | null;
  kind: VersionKind;
  parent_version: number | null;
  rolled_back_from: number | null;
  optimization_run_id?: string | null;
  author_type: string;
  author_id: string | null;
  created_at: Date;
  imported_by_type: string | null;
  imported_by_id: string | null;
  imported_at: Date | null;
  [contentColumn: string]: unknown;
}

/** Inserts version 1 of a newly inserted item. */
export async function insertFirstVersion<Content>(
  transaction: Postgres,
  kind: Kind<Content>,
  item: Pick<Item, 'id' | 'projectId'>,
  version: NewVersion<Content>,
): Promise<void> {
  await transaction(kind.tables.versions).insert(columnsOf(kind, item, version, 1));
}

/**
 * Adds the version after the newest. Counting up locks the item's row until the transaction ends,
 * and a rollback undoes it, so versions have neither gaps nor duplicates under concurrent calls.
 */
export async function appendVersion<Content>(
  transaction: Postgres,
  kind: Kind<Content>,
  item: Item,
  version: NewVersion<Content>,
): Promise<number> {
  const { items, versions } = kind.tables;
  const [counted]: { latest_version: number; updated_at: Date }[] = await transaction(items)
    .where({ project_id: item.projectId, id: item.id })
    .update({
      latest_version: transaction.raw('latest_version + 1'),
      revision: transaction.raw('revision + 1'),
      updated_at: transaction.raw('clock_timestamp()'),
    })
    .returning(['latest_version', 'updated_at']);
  if (counted === undefined) throw new Error(`${item.id} has no row`);
  await transaction(versions).insert({
    ...columnsOf(kind, item, version, counted.latest_version),
    created_at: counted.updated_at,
  });
  return counted.latest_version;
}

/** Finds one version of an item. */
export async function findVersion<Content>(
  postgres: Postgres,
  kind: Kind<Content>,
  item: Item,
  version: number,
): Promise<Version<Content> | undefined> {
  const row = await versionsOf(postgres, kind, item)
    .where({ version })
    .first<Row | undefined>(...columnNames(kind));
  return row && toVersion(kind, row);
}

/** Versions of one page, and whether others follow them. */
interface VersionPage<Content> {
  rows: Version<Content>[];
  hasMore: boolean;
}

/**
 * Bytes of the contents of one page, as JSON. A larger version has a page of its own. An answer of
 * this size takes up to 40 ms if it consists of small values.
 */
export const pageBytesMax = 2 * 1024 * 1024;

/**
 * Lists the versions before `before`, newest first: at most `limit`, whose contents have at most
 * {@link pageBytesMax}. Measures one version after the other, so that Postgres reads only those of
 * the page and the one after it, and no larger content is sent.
 */
export async function listVersions<Content>(
  postgres: Postgres,
  kind: Kind<Content>,
  { id, projectId }: Item,
  { before = versionMax + 1, limit }: { before: number | undefined; limit: number },
): Promise<VersionPage<Content>> {
  const { tables, idColumn, ownColumns } = kind;
  const next = (below: string) =>
    `select version, octet_length(cast(json_build_array(commit_message, ${ownColumns.join(', ')}) as text)) as bytes
     from ${tables.versions} where project_id = :projectId and ${idColumn} = :id and version < ${below}
     order by version desc limit 1`;
  const { rows } = await postgres.raw<{ rows: (Row & { measured: number })[] }>(
    `with recursive measured (version, bytes, place) as (
       select version, cast(bytes as bigint), 1 from (${next('cast(:before as bigint)')}) as newest
       union all
       select further.version, measured.bytes + further.bytes, place + 1
       from measured cross join lateral (${next('measured.version')}) as further
       where (place = 1 or measured.bytes <= :bytesMax) and place <= :limit)
     select ${columnNames(kind).join(', ')}, (select cast(count(*) as integer) from measured) as measured
     from ${tables.versions} join measured using (version)
     where project_id = :projectId and ${idColumn} = :id and place <= :limit and (place = 1 or bytes <= :bytesMax)
     order by version desc`,
    { projectId, id, before, limit, bytesMax: pageBytesMax },
  );
  const [first] = rows;
  return {
    rows: rows.map((row) => toVersion(kind, row)),
    hasMore: first !== undefined && first.measured > rows.length,
  };
}

/** Lists the versions after `after` up to and including `upTo`, oldest first. */
export async function listVersionsUpwards<Content>(
  postgres: Postgres,
  kind: Kind<Content>,
  item: Item,
  { after, upTo }: { after: number; upTo: number },
): Promise<Version<Content>[]> {
  const rows = await versionsOf(postgres, kind, item)
    .where('version', '>', after)
    .where('version', '<=', upTo)
    .orderBy('version')
    .select<Row[]>(...columnNames(kind));
  return rows.map((row) => toVersion(kind, row));
}

const versionsOf = <Content>(postgres: Postgres, { tables, idColumn }: Kind<Content>, { id, projectId }: Item) =>
  postgres(tables.versions).where({ project_id: projectId, [idColumn]: id });

const commonColumns = [
  ...['version', 'content_hash', 'commit_message', 'kind', 'parent_version', 'rolled_back_from'],
  ...['author_type', 'author_id', 'created_at', 'imported_by_type', 'imported_by_id', 'imported_at'],
];

const columnNames = <Content>(kind: Kind<Content>) => [...commonColumns, ...kind.ownColumns];

function columnsOf<Content>(
  kind: Kind<Content>,
  { id, projectId }: Pick<Item, 'id' | 'projectId'>,
  { content, contentHash, author, ...made }: NewVersion<Content>,
  version: number,
) {
  return {
    project_id: projectId,
    [kind.idColumn]: id,
    version,
    ...kind.toColumns(content),
    content_hash: contentHash,
    commit_message: made.commitMessage,
    kind: made.kind,
    parent_version: made.parentVersion,
    rolled_back_from: made.rolledBackFrom ?? null,
    // Only prompts have the column.
    ...(made.optimizationRunId === undefined ? {} : { optimization_run_id: made.optimizationRunId }),
    author_type: author.type,
    author_id: author.id,
  };
}

function toVersion<Content>(kind: Kind<Content>, row: Row): Version<Content> {
  return {
    version: row.version,
    content: kind.fromColumns(row),
    contentHash: row.content_hash,
    commitMessage: row.commit_message,
    kind: row.kind,
    parentVersion: row.parent_version,
    rolledBackFrom: row.rolled_back_from,
    optimizationRunId: row.optimization_run_id ?? null,
    author: { type: row.author_type, id: row.author_id },
    createdAt: row.created_at,
    imported: importOf(row),
  };
}

function importOf({ imported_by_type, imported_by_id, imported_at }: Row): Version<unknown>['imported'] {
  if (imported_by_type === null || imported_at === null) return null;
  return { by: { type: imported_by_type, id: imported_by_id }, at: imported_at };
}
