import { z } from 'zod';
import { toPage } from '../../http/pagination.ts';
import { decodeCursor, encodeCursor, fingerprintOf } from '../../lib/cursor.ts';
import type { ProjectId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { Item } from './item.ts';
import { type ItemFilters, type ItemSort, listItems } from './item-list-store.ts';
import type { ItemKind } from './kind.ts';

export interface ItemsPage {
  projectId: ProjectId;
  filters: ItemFilters;
  sort: ItemSort;
  limit: number;
  cursor: string | undefined;
}

const position = z.tuple([z.string(), z.string()]);

/**
 * Returns one page of a project's live items. Rows inserted between pages neither repeat nor hide
 * other rows.
 */
export async function listItemsPage<Wire>(
  { postgres, cursorSecret }: { postgres: Postgres; cursorSecret: string },
  kind: ItemKind,
  { projectId, filters, sort, limit, cursor }: ItemsPage,
  toWire: (item: Item) => Wire,
) {
  const fingerprint = fingerprintOf({ list: kind.tables.items, projectId, sort, ...filters });
  const after = cursor === undefined ? undefined : decodeCursor(cursorSecret, fingerprint, cursor, position);
  const items = await listItems(postgres, kind, { projectId, filters, sort, after, limit: limit + 1 });
  return toPage(items, limit, toWire, (item) =>
    encodeCursor(cursorSecret, fingerprint, [positionOf[sort](item), item.id]),
  );
}

const positionOf: Readonly<Record<ItemSort, (item: Item) => string>> = {
  '-updated_at': (item) => item.updatedAtUs,
  '-created_at': (item) => item.createdAtUs,
  name: (item) => item.name,
};
