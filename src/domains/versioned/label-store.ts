import { InvalidError } from '../../lib/errors.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { Author, Item } from './item.ts';
import type { ItemKind } from './kind.ts';
import { itemLimits } from './params.schema.ts';

/** One entry of a label's history. `version` is null when the label was removed. */
export interface LabelMove {
  id: string;
  version: number | null;
  author: Author;
  at: Date;
}

/**
 * Points labels at a version of a locked item and records those that moved in the history, with the
 * same time. The time is taken under the lock, so later moves have later times. Returns the labels
 * that moved.
 * @throws InvalidError when the item would have too many labels
 */
export async function pointLabels(
  transaction: Postgres,
  kind: ItemKind,
  item: Pick<Item, 'id' | 'projectId'>,
  { labels, version, author }: { labels: readonly string[]; version: number; author: Author },
): Promise<string[]> {
  if (labels.length === 0) return [];
  const { tables, idColumn } = kind;
  const { rows } = await transaction.raw<{ rows: { label: string }[] }>(
    `with moved as (
       insert into ${tables.labels} (project_id, ${idColumn}, label, version, updated_at)
       select :projectId, :id, label, cast(:version as integer), clock_timestamp() from unnest(cast(:labels as text[])) as label
       on conflict (${idColumn}, label) do update set version = excluded.version, updated_at = excluded.updated_at
         where ${tables.labels}.version <> excluded.version
       returning label, updated_at)
     insert into ${tables.labelHistory} (project_id, ${idColumn}, label, version, author_type, author_id, at)
     select :projectId, :id, label, cast(:version as integer), :authorType, :authorId, updated_at from moved returning label`,
    {
      projectId: item.projectId,
      id: item.id,
      labels: [...new Set(labels)],
      version,
      authorType: author.type,
      authorId: author.id,
    },
  );
  if (rows.length > 0) await requireFewLabels(transaction, kind, item);
  return rows.map(({ label }) => label);
}

/**
 * Checks the number of labels of an item.
 * @throws InvalidError when there are too many
 */
async function requireFewLabels(
  transaction: Postgres,
  { tables, idColumn, noun }: ItemKind,
  { id, projectId }: Pick<Item, 'id' | 'projectId'>,
): Promise<void> {
  const [counted]: { count: number }[] = await transaction(tables.labels)
    .where({ project_id: projectId, [idColumn]: id })
    .select(transaction.raw('count(*)::int as count'));
  const count = counted?.count ?? 0;
  if (count <= itemLimits.labelsMax) return;
  const message = `The ${noun} would have ${count} labels. At most ${itemLimits.labelsMax} are allowed`;
  throw new InvalidError('invalid_body', message, { errors: [{ path: 'labels', code: 'too_many', message }] });
}

/** Removes a label that a locked item has. */
export async function deleteLabel(
  transaction: Postgres,
  { tables, idColumn }: ItemKind,
  item: Item,
  { label, author }: { label: string; author: Author },
): Promise<void> {
  const owner = { project_id: item.projectId, [idColumn]: item.id };
  await transaction(tables.labels)
    .where({ ...owner, label })
    .delete();
  await transaction(tables.labelHistory).insert({
    ...owner,
    label,
    version: null,
    author_type: author.type,
    author_id: author.id,
    at: transaction.raw('clock_timestamp()'),
  });
}

/** Lists the moves of a label, newest first. */
export async function listLabelMoves(
  postgres: Postgres,
  { tables, idColumn }: ItemKind,
  item: Item,
  { label, before, limit }: { label: string; before: string | undefined; limit: number },
): Promise<LabelMove[]> {
  const query = postgres(tables.labelHistory)
    .where({ project_id: item.projectId, [idColumn]: item.id, label })
    .orderBy('id', 'desc')
    .limit(limit);
  if (before !== undefined) query.where('id', '<', before);
  const rows = await query.select<
    { id: string; version: number | null; author_type: string; author_id: string | null; at: Date }[]
  >('id', 'version', 'author_type', 'author_id', 'at');
  return rows.map(({ id, version, author_type, author_id, at }) => ({
    id,
    version,
    author: { type: author_type, id: author_id },
    at,
  }));
}
