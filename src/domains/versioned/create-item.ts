import { ConflictError } from '../../lib/errors.ts';
import { newId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { type Acting, authorOf, type Collection, changeItem, recordChange } from './collection.ts';
import type { Item, ItemAt, Metadata } from './item.ts';
import { insertItem, lockSlugNumber } from './item-store.ts';
import { hashOf } from './kind.ts';
import { pointLabels } from './label-store.ts';
import { readNewest } from './read-item.ts';
import { deriveSlug } from './slug.ts';
import { slugTaken } from './unknown-item.ts';
import { insertFirstVersion } from './version-store.ts';

export interface CreateItemInput<Content> extends Acting {
  /** Without a slug, one is derived from the name. */
  metadata: Omit<Metadata, 'slug'> & { slug: string | undefined };
  content: Content;
  labels: readonly string[];
  commitMessage: string | null;
}

/**
 * Creates an item with version 1.
 * @throws ConflictError `slug_taken`, and the errors of `checkContent` and `versionAdded`
 */
export async function createItem<Content>(
  collection: Collection<Content>,
  input: CreateItemInput<Content>,
): Promise<ItemAt<Content>> {
  const { kind, checkContent, versionAdded } = collection;
  const { content, labels, commitMessage } = input;
  const references = await checkContent(content, input);
  const { projectId } = input.project;
  return changeItem(collection, input, async (transaction) => {
    const { id, slug } = await insertWithSlug(transaction, collection, input);
    const author = authorOf(input);
    const contentHash = hashOf(kind, content);
    const first = { content, contentHash, kind: 'create', author, commitMessage, parentVersion: null } as const;
    await insertFirstVersion(transaction, kind, { id, projectId }, first);
    const moved = await pointLabels(transaction, kind, { id, projectId }, { labels, version: 1, author });
    const created = await readNewest(transaction, kind, projectId, id);
    await versionAdded(transaction, created.item, { version: 1, references });
    const { item } = created;
    await recordChange(transaction, collection, input, {
      item: { id, slug },
      did: 'created',
      changes: [
        { item, did: 'version_created', version: 1, kind: 'create', parentVersion: null },
        ...moved.map((label) => ({ item, did: 'label_moved', label, from: null, to: 1 }) as const),
      ],
    });
    return created;
  });
}

/** Attempts to insert a derived slug. Another request may give the same slug at the same time. */
const attemptsMax = 3;

async function insertWithSlug<Content>(
  transaction: Postgres,
  { kind }: Collection<Content>,
  { project: { projectId }, metadata, content }: CreateItemInput<Content>,
): Promise<Pick<Item, 'id' | 'slug'>> {
  const id = newId(kind.idPrefix);
  const insert = (slug: string) =>
    insertItem(transaction, kind, { ...metadata, id, projectId, slug }, kind.toFixed(content));
  if (metadata.slug !== undefined) {
    if (await insert(metadata.slug)) return { id, slug: metadata.slug };
    throw slugTaken(kind, metadata.slug);
  }
  const base = deriveSlug(kind, metadata.name);
  let slug = base;
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    if (await insert(slug)) return { id, slug };
    slug = `${base}-${Math.max(1, await lockSlugNumber(transaction, kind, projectId, base)) + 1}`;
  }
  throw new ConflictError('slug_taken', `The slug ${slug}, which was derived from the name, is not valid. Send a slug`);
}
