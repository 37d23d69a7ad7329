import type { ProjectId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { Item } from './item.ts';
import { type ItemRow, itemColumns, toItem } from './item-store.ts';
import type { ItemKind } from './kind.ts';

export const itemSorts = ['-updated_at', 'name', '-created_at'] as const;
export type ItemSort = (typeof itemSorts)[number];

export interface ItemFilters {
  /** Words that must each occur in the name, slug or description. */
  q?: string | undefined;
  /** An item must have all of them. */
  tags?: readonly string[] | undefined;
  label?: string | undefined;
  name?: string | undefined;
  updatedAfter?: Date | undefined;
  /** Columns that must have these values. */
  equal?: Readonly<Record<string, string>> | undefined;
}

/**
 * The order of a sort, and the condition for rows after a position. Times are microseconds; the id
 * breaks ties.
 */
const time = (column: string) => ({
  order: [
    { column, order: 'desc' },
    { column: 'id', order: 'desc' },
  ],
  // A product of an interval is not exact beyond the year 4253, and imports have times up to 9999.
  after: `(${column}, id) < (timestamptz 'epoch' + cast(? || ' microseconds' as interval), ?)`,
});
const sorts = {
  '-updated_at': time('updated_at'),
  '-created_at': time('created_at'),
  name: { order: [{ column: 'name' }, { column: 'id' }], after: '(name, id) > (?, ?)' },
} satisfies Record<ItemSort, unknown>;

/** Lists live items after a position, in the order of the sort. */
export async function listItems(
  postgres: Postgres,
  kind: ItemKind,
  page: {
    projectId: ProjectId;
    filters: ItemFilters;
    sort: ItemSort;
    after: readonly [string, string] | undefined;
    limit: number;
  },
): Promise<Item[]> {
  const { order, after } = sorts[page.sort];
  const query = postgres(kind.tables.items)
    .where({ project_id: page.projectId })
    .whereNull('deleted_at')
    .orderBy(order)
    .limit(page.limit);
  if (page.after !== undefined) query.whereRaw(after, [...page.after]);
  addFilters(postgres, query, kind, page.projectId, page.filters);
  const rows = await query.select<ItemRow[]>(itemColumns(postgres, kind));
  return rows.map((row) => toItem(kind, row));
}

/**
 * Lists live items with a slug after `afterSlug`. Slugs are compared by bytes, so that the order is
 * the same in every database.
 */
export async function listItemsBySlug(
  postgres: Postgres,
  kind: ItemKind,
  projectId: ProjectId,
  { afterSlug, limit }: { afterSlug: string; limit: number },
): Promise<Item[]> {
  const rows = await postgres(kind.tables.items)
    .where({ project_id: projectId })
    .whereNull('deleted_at')
    .whereRaw('slug collate "C" > ?', [afterSlug])
    .orderByRaw('slug collate "C"')
    .limit(limit)
    .select<ItemRow[]>(itemColumns(postgres, kind));
  return rows.map((row) => toItem(kind, row));
}

function addFilters(
  postgres: Postgres,
  query: ReturnType<Postgres>,
  { tables, idColumn }: ItemKind,
  projectId: ProjectId,
  { q, tags, label, name, updatedAfter, equal }: ItemFilters,
): void {
  for (const word of wordsOf(q)) {
    query.where((either) => {
      for (const form of formsOf(word)) {
        either.orWhereRaw("search like lower(?) escape '\\'", [`%${form.replaceAll(/[\\%_]/g, '\\$&')}%`]);
      }
    });
  }
  if (tags !== undefined) query.whereRaw('tags @> ?::text[]', [[...tags]]);
  if (name !== undefined) query.where({ name });
  if (updatedAfter !== undefined) query.where('updated_at', '>', updatedAfter);
  if (equal !== undefined) query.where(equal);
  if (label === undefined || label === 'latest') return;
  query.whereIn('id', postgres(tables.labels).where({ project_id: projectId, label }).select(idColumn));
}

/** Returns the words that a search looks for. */
export function wordsOf(q = ''): string[] {
  return q.split(/\s+/).filter(Boolean);
}

/**
 * Returns a word in Unicode forms NFC and NFD; they are equal for most words. Names are stored as
 * sent, so they may be in either form.
 */
function formsOf(word: string): Set<string> {
  return new Set([word.normalize('NFC'), word.normalize('NFD')]);
}
