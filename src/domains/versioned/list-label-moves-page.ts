import { z } from 'zod';
import { toPage } from '../../http/pagination.ts';
import { decodeCursor, encodeCursor, fingerprintOf } from '../../lib/cursor.ts';
import type { Item } from './item.ts';
import { labelMoveToWire } from './item-output.schema.ts';
import { listLabelMoves } from './label-store.ts';
import type { ItemResource } from './resource.ts';

const position = z.tuple([z.string().regex(/^\d{1,19}$/)]);

/**
 * Returns one page of a label's history, newest first. It is empty for a label that never existed.
 */
export async function listLabelMovesPage<Content>(
  { collection, cursorSecret }: ItemResource<Content>,
  item: Item,
  { label, limit, cursor }: { label: string; limit: number; cursor?: string | undefined },
) {
  const fingerprint = fingerprintOf({ list: 'label-moves', of: item.id, label });
  const [before] = cursor === undefined ? [] : decodeCursor(cursorSecret, fingerprint, cursor, position);
  const moves = await listLabelMoves(collection.postgres, collection.kind, item, { label, before, limit: limit + 1 });
  return toPage(moves, limit, labelMoveToWire, ({ id }) => encodeCursor(cursorSecret, fingerprint, [id]));
}
