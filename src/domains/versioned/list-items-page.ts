import { z } from 'zod';
import { toPage } from '../../http/pagination.ts';
import { decodeCursor, encodeCursor, fingerprintOf } from '../../lib/cursor.ts';
import { FairLane } from '../../lib/fair-lane.ts';
import { requestWaitMsMax, type Waiter } from '../../lib/fair-lane-options.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { ProjectScope } from '../workspaces/index.ts';
import type { Item } from './item.ts';
import { type ItemFilters, type ItemSort, listItems } from './item-list-store.ts';
import type { ItemKind } from './kind.ts';

export interface ItemsPage {
  project: ProjectScope;
  waiter: Waiter;
  filters: ItemFilters;
  sort: ItemSort;
  limit: number;
  cursor: string | undefined;
}

/**
 * Lists with words, a type, tags or a label, of all workspaces. Words that are short or in every text find no part of an
 * index, so the texts of all items of the project are read. A type, tag or label that no item has is looked for in all
 * of them.
 */
const searches = new FairLane({
  ...{ name: 'searches of prompts and parts', capacity: 3, perKey: 1 },
  ...{ waitingPerKey: 16, waitingMax: 64, waitMsMax: requestWaitMsMax },
});

const position = z.tuple([z.string(), z.string()]);

/**
 * Returns one page of a project's live items. Rows inserted between pages neither repeat nor hide
 * other rows. A workspace has one of such lists in progress.
 * @throws MalformedError (`invalid_cursor`, `cursor_mismatch`), RateLimitedError, UnavailableError
 */
export async function listItemsPage<Wire>(
  { postgres, cursorSecret }: { postgres: Postgres; cursorSecret: string },
  kind: ItemKind,
  { project: { projectId, workspaceId }, waiter, filters, sort, limit, cursor }: ItemsPage,
  toWire: (item: Item) => Wire,
) {
  const fingerprint = fingerprintOf({ list: kind.tables.items, projectId, sort, ...filters });
  const after = cursor === undefined ? undefined : decodeCursor(cursorSecret, fingerprint, cursor, position);
  const list = () => listItems(postgres, kind, { projectId, filters, sort, after, limit: limit + 1 });
  const { q, equal, tags, label, updatedAfter } = filters;
  const isFiltered = [q, equal, tags, label].some((filter) => filter !== undefined && filter !== 'latest');
  const isSearch = isFiltered || (updatedAfter !== undefined && sort !== '-updated_at');
  const items = isSearch ? await searches.run(workspaceId, list, { waiter }) : await list();
  return toPage(items, limit, toWire, (item) =>
    encodeCursor(cursorSecret, fingerprint, [positionOf[sort](item), item.id]),
  );
}

const positionOf: Readonly<Record<ItemSort, (item: Item) => string>> = {
  '-updated_at': (item) => item.updatedAtUs,
  '-created_at': (item) => item.createdAtUs,
  name: (item) => item.name,
};
