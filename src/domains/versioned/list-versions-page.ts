import { z } from 'zod';
import { pageOf } from '../../http/pagination.ts';
import { decodeCursor, encodeCursor, fingerprintOf } from '../../lib/cursor.ts';
import type { Item } from './item.ts';
import type { ItemResource } from './resource.ts';
import { listVersions } from './version-store.ts';

const position = z.tuple([z.int()]);

/** Returns one page of an item's versions, newest first. Large versions end a page before its limit. */
export async function listVersionsPage<Content>(
  resource: ItemResource<Content>,
  item: Item,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
) {
  const { collection, cursorSecret } = resource;
  const fingerprint = fingerprintOf({ list: 'versions', of: item.id });
  const [before] = cursor === undefined ? [] : decodeCursor(cursorSecret, fingerprint, cursor, position);
  const versions = await listVersions(collection.postgres, collection.kind, item, { before, limit });
  return pageOf(versions, limit, resource.versionToWire, ({ version }) =>
    encodeCursor(cursorSecret, fingerprint, [version]),
  );
}
