import { type Acting, authorOf, type Collection, changeItem, recordChange } from './collection.ts';
import type { Item } from './item.ts';
import { reviseItem } from './item-store.ts';
import { deleteLabel, pointLabels } from './label-store.ts';
import { readItem, readLockedItem, readVersion } from './read-item.ts';
import { unknownLabel } from './unknown-item.ts';

export interface LabelInput extends Acting {
  idOrSlug: string;
  label: string;
}

/**
 * Points a label at a version. Creates the label when it does not exist.
 * @throws NotFoundError, and the errors of `checkReferences`
 */
export async function moveLabel<Content>(
  collection: Collection<Content>,
  input: LabelInput & { version: number },
): Promise<Item> {
  const { kind } = collection;
  const { label, version } = input;
  const { projectId } = input.project;
  const { item } = await changeItem(collection, input, async (transaction) => {
    const before = await readLockedItem(transaction, kind, projectId, input.idOrSlug);
    await readVersion(transaction, kind, before, version);
    const to = { labels: [label], version, author: authorOf(input) };
    const moved = await pointLabels(transaction, kind, before, to);
    if (moved.length === 0) return { item: before };
    await reviseItem(transaction, kind, before);
    const item = await readItem(transaction, kind, projectId, before.id);
    await collection.checkReferences?.(transaction, item, { isFound: false });
    const from = before.labels.find((each) => each.label === label)?.version ?? null;
    const details = { label, from, to: version };
    const changes = [{ item, did: 'label_moved', label, from, to: version }] as const;
    await recordChange(transaction, collection, input, { item, did: 'label_moved', details, changes });
    return { item };
  });
  return item;
}

/**
 * Removes a label. Its history remains.
 * @throws NotFoundError
 */
export async function removeLabel<Content>(collection: Collection<Content>, input: LabelInput): Promise<void> {
  const { kind } = collection;
  const { label } = input;
  await changeItem(collection, input, async (transaction) => {
    const item = await readLockedItem(transaction, kind, input.project.projectId, input.idOrSlug);
    const removed = await deleteLabel(transaction, kind, item, { label, author: authorOf(input) });
    if (!removed) throw unknownLabel(kind, item, label);
    await reviseItem(transaction, kind, item);
    const from = item.labels.find((each) => each.label === label)?.version ?? null;
    const changes = [{ item, did: 'label_moved', label, from, to: null }] as const;
    await recordChange(transaction, collection, input, { item, did: 'label_removed', details: { label }, changes });
    return { item };
  });
}
