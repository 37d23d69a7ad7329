import { type IfMatch, requireMatch } from '../../http/etag.ts';
import { type Acting, authorOf, type Collection, changeItem, recordChange } from './collection.ts';
import { etagOf, type Item } from './item.ts';
import { reviseItem } from './item-store.ts';
import { deleteLabel, pointLabels } from './label-store.ts';
import { readItem, readLockedItem, readVersion } from './read-item.ts';
import { unknownLabel } from './unknown-item.ts';

export interface LabelInput extends Acting {
  idOrSlug: string;
  label: string;
  ifMatch: IfMatch | undefined;
}

/**
 * Points a label at a version. Creates the label when it does not exist.
 * @throws NotFoundError, PreconditionFailedError, and the errors of `checkReferences`
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
    requireKnown(before, input, version);
    await readVersion(transaction, kind, before, version);
    const to = { labels: [label], version, author: authorOf(input) };
    const moved = await pointLabels(transaction, kind, before, to);
    if (moved.length === 0) return { item: before };
    await reviseItem(transaction, kind, before);
    const item = await readItem(transaction, kind, projectId, before.id);
    await collection.checkReferences?.(transaction, item, { isFound: false });
    const from = versionOf(before, label) ?? null;
    const details = { label, from, to: version };
    const changes = [{ item, did: 'label_moved', label, from, to: version }] as const;
    await recordChange(transaction, collection, input, { item, did: 'label_moved', details, changes });
    return { item };
  });
  return item;
}

/**
 * Removes a label. Its history remains.
 * @throws NotFoundError, PreconditionFailedError
 */
export async function removeLabel<Content>(collection: Collection<Content>, input: LabelInput): Promise<void> {
  const { kind } = collection;
  const { label } = input;
  await changeItem(collection, input, async (transaction) => {
    const item = await readLockedItem(transaction, kind, input.project.projectId, input.idOrSlug);
    const from = versionOf(item, label);
    if (from === undefined) throw unknownLabel(kind, item, label);
    requireKnown(item, input);
    await deleteLabel(transaction, kind, item, { label, author: authorOf(input) });
    await reviseItem(transaction, kind, item);
    const changes = [{ item, did: 'label_moved', label, from, to: null }] as const;
    await recordChange(transaction, collection, input, { item, did: 'label_removed', details: { label }, changes });
    return { item };
  });
}

/**
 * Checks that the item is in the state that the caller knows: from a read of its newest version, of the version with
 * the label, or of the version that gets it. `*` stands for a label that exists.
 * @throws PreconditionFailedError
 */
function requireKnown(item: Item, { label, ifMatch }: Pick<LabelInput, 'label' | 'ifMatch'>, to?: number): void {
  const version = versionOf(item, label);
  const tags = [version, to].flatMap((each) => (each === undefined ? [] : [etagOf(item, each)]));
  if (ifMatch === '*') requireMatch(ifMatch, version === undefined ? undefined : etagOf(item, version));
  else requireMatch(ifMatch, etagOf(item, item.latestVersion), tags);
}

function versionOf({ labels }: Item, label: string): number | undefined {
  return labels.find((each) => each.label === label)?.version;
}
