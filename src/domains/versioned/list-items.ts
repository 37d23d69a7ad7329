import { z } from 'zod';
import { toPage } from '../../http/pagination.ts';
import { decodeCursor, encodeCursor, fingerprintOf } from '../../lib/cursor.ts';
import type { ProjectId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { Item, Version } from './item.ts';
import { type ItemFilters, type ItemSort, listItems, listItemsBySlug } from './item-list-store.ts';
import type { ItemKind, Kind } from './kind.ts';
import { listVersionsUpwards } from './version-store.ts';

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

const itemsPerRead = 50;
/** Versions per read. One version has up to a megabyte. */
const versionsPerRead = 20;

/**
 * Yields all live items of a project by slug, each followed by its versions in order. Reads while
 * the caller consumes.
 * @throws UnavailableError
 */
export async function* walkItems<Content>(
  postgres: Postgres,
  kind: Kind<Content>,
  projectId: ProjectId,
): AsyncGenerator<{ item: Item; version?: Version<Content> }> {
  let afterSlug = '';
  for (;;) {
    const page = { afterSlug, limit: itemsPerRead };
    const items = await listItemsBySlug(postgres, kind, projectId, page);
    for (const item of items) {
      yield { item };
      // Stops at the newest version that the item had when it was read; versions added later are
      // not included.
      for (let after = 0; after < item.latestVersion; after += versionsPerRead) {
        const upTo = Math.min(after + versionsPerRead, item.latestVersion);
        const versions = await listVersionsUpwards(postgres, kind, item, { after, upTo });
        for (const version of versions) yield { item, version };
      }
    }
    const last = items.at(-1);
    if (last === undefined || items.length < itemsPerRead) return;
    afterSlug = last.slug;
  }
}
