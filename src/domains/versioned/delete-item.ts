import { type IfMatch, requireMatch } from '../../http/etag.ts';
import { NotFoundError } from '../../lib/errors.ts';
import { type Acting, type Collection, changeItem, recordChange } from './collection.ts';
import { etagOf, type ItemAt } from './item.ts';
import { isSlugTaken, lockDeletedItem, reviseItem, reviveItem } from './item-store.ts';
import { readLockedItem, readNewest } from './read-item.ts';
import { slugTaken } from './unknown-item.ts';

/** Days after its deletion in which an item can be restored. */
export const restorableDays = 30;
const dayMs = 24 * 60 * 60 * 1_000;

export interface DeleteItemInput extends Acting {
  idOrSlug: string;
  ifMatch: IfMatch | undefined;
}

/**
 * Deletes an item so that it can be restored. References to its id remain valid.
 * @throws NotFoundError, PreconditionFailedError, and the errors of `requireUnused`
 */
export async function deleteItem<Content>(collection: Collection<Content>, input: DeleteItemInput): Promise<void> {
  const { kind } = collection;
  await changeItem(collection, input, async (transaction) => {
    const item = await readLockedItem(transaction, kind, input.project.projectId, input.idOrSlug);
    requireMatch(input.ifMatch, etagOf(item, item.latestVersion));
    await collection.requireUnused?.(transaction, item);
    await reviseItem(transaction, kind, item, { deleted_at: new Date() });
    await recordChange(transaction, collection, input, { item, did: 'deleted', changes: [{ item, did: 'deleted' }] });
    return { item };
  });
}

/**
 * Restores a deleted item.
 * @throws NotFoundError after {@link restorableDays}
 * @throws ConflictError `slug_taken`, and the errors of `checkReferences`
 */
export async function restoreItem<Content>(
  collection: Collection<Content>,
  input: Acting & { idOrSlug: string },
): Promise<ItemAt<Content>> {
  const { kind } = collection;
  const { projectId } = input.project;
  return changeItem(collection, input, async (transaction) => {
    const after = new Date(Date.now() - restorableDays * dayMs);
    const deleted = await lockDeletedItem(transaction, kind, projectId, { idOrSlug: input.idOrSlug, after });
    if (deleted === undefined) {
      throw new NotFoundError(
        kind.notFound,
        `No ${kind.noun} ${JSON.stringify(input.idOrSlug.slice(0, 80))} was deleted in the last ${restorableDays} days.`,
      );
    }
    try {
      await reviveItem(transaction, kind, projectId, deleted.id);
    } catch (error) {
      throw isSlugTaken(error) ? slugTaken(kind, deleted.slug) : error;
    }
    await recordChange(transaction, collection, input, {
      item: { id: deleted.id, slug: deleted.slug },
      did: 'restored',
    });
    const restored = await readNewest(transaction, kind, projectId, deleted.id);
    await collection.checkReferences?.(transaction, restored.item, { isFound: true });
    return restored;
  });
}
