import { type IfMatch, requireMatch } from '../../http/etag.ts';
import { ConflictError } from '../../lib/errors.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { type Acting, authorOf, type Collection, changeItem, type ItemChange, recordChange } from './collection.ts';
import { etagOf, type Item, type ItemAt, type Metadata, type Reference, type Version } from './item.ts';
import { isSlugTaken, reviseItem } from './item-store.ts';
import { hashOf, type Kind } from './kind.ts';
import { pointLabels } from './label-store.ts';
import { readLockedItem, readNewest, readVersion } from './read-item.ts';
import { slugTaken } from './unknown-item.ts';
import { appendVersion } from './version-store.ts';

/** Conditions on the current state of an item. */
export interface Conditions {
  ifMatch: IfMatch | undefined;
  baseVersion: number | undefined;
}

export interface UpdateItemInput<Content> extends Acting, Conditions {
  idOrSlug: string;
  /** Undefined fields stay. */
  metadata: { readonly [K in keyof Metadata]: Metadata[K] | undefined };
  /**
   * Computes the new content from the newest content. Returns the newest content itself if it does not change.
   * @throws InvalidError
   */
  merge: (newest: Content) => Content;
  /** Labels to point at the version that is the newest after the update. */
  labels: readonly string[];
  commitMessage: string | null;
}

export interface UpdatedItem<Content> extends ItemAt<Content> {
  createdVersion: boolean;
}

/** The content of an update is checked at most so often. Each time another update has changed the item meanwhile. */
const checksMax = 20;

/**
 * Changes metadata in place, and adds a version when the content differs from the newest version's.
 * @throws NotFoundError, PreconditionFailedError, ConflictError (`version_conflict`, `slug_taken`)
 * @throws the errors of the collection's hooks
 */
export async function updateItem<Content>(
  collection: Collection<Content>,
  input: UpdateItemInput<Content>,
): Promise<UpdatedItem<Content>> {
  for (let checks = 1; ; checks++) {
    const checked = await checkAhead(collection, input);
    try {
      return await storeUpdate(collection, input, checked);
    } catch (error) {
      if (!(error instanceof ChangedMeanwhile) || checks === checksMax) throw error;
    }
  }
}

/** @throws ChangedMeanwhile when the content is not the one that was checked */
async function storeUpdate<Content>(
  collection: Collection<Content>,
  input: UpdateItemInput<Content>,
  checked: Checked,
): Promise<UpdatedItem<Content>> {
  const { kind } = collection;
  const { projectId } = input.project;
  return changeItem(collection, input, async (transaction) => {
    const item = await readLockedItem(transaction, kind, projectId, input.idOrSlug);
    requireConditions(item, input);
    const newest = await readVersion(transaction, kind, item, item.latestVersion);
    const content = input.merge(newest.content);
    const isNewestChecked = newest.contentHash === checked.newestHash;
    const hash = isNewestChecked ? (checked.hash ?? newest.contentHash) : hashAfter(kind, newest, content);
    const createdVersion = hash !== newest.contentHash;
    if (createdVersion && hash !== checked.hash) throw new ChangedMeanwhile(item.latestVersion);
    const { references } = checked;
    const revised = await revise(transaction, collection, item, input);
    const author = authorOf(input);
    const version = createdVersion
      ? await appendVersion(transaction, kind, item, {
          content,
          contentHash: hash,
          kind: 'update',
          author,
          commitMessage: input.commitMessage,
          parentVersion: newest.version,
        })
      : newest.version;
    const moved = await pointLabels(transaction, kind, item, { labels: input.labels, version, author });
    if (moved.length > 0 && !createdVersion && !revised) await reviseItem(transaction, kind, item);
    const updated = await readNewest(transaction, kind, projectId, item.id);
    if (createdVersion) await collection.versionAdded(transaction, updated.item, { version, references });
    const isFound = updated.item.slug !== item.slug;
    if (isFound || moved.length > 0) await collection.checkReferences?.(transaction, updated.item, { isFound });
    if (createdVersion || revised || moved.length > 0) {
      const did = createdVersion ? 'version_created' : 'updated';
      const changes = changesOf(item, updated, { createdVersion, moved });
      await recordChange(transaction, collection, input, { item, did, details: { version, labels: moved }, changes });
    }
    return { ...updated, createdVersion };
  });
}

function changesOf<Content>(
  before: Item,
  { item, version: { version, kind, parentVersion } }: ItemAt<Content>,
  { createdVersion, moved }: { createdVersion: boolean; moved: readonly string[] },
): ItemChange[] {
  const from = new Map(before.labels.map((each) => [each.label, each.version]));
  return [
    ...(createdVersion ? [{ item, did: 'version_created', version, kind, parentVersion } as const] : []),
    ...moved.map((label) => ({ item, did: 'label_moved', label, from: from.get(label) ?? null, to: version }) as const),
  ];
}

/**
 * Checks that an item is in the state that the caller knows.
 * @throws PreconditionFailedError, ConflictError `version_conflict`
 */
export function requireConditions(item: Item, { ifMatch, baseVersion }: Conditions): void {
  requireMatch(ifMatch, etagOf(item, item.latestVersion));
  if (baseVersion === undefined || baseVersion === item.latestVersion) return;
  throw new ConflictError(
    'version_conflict',
    `base_version is ${baseVersion}, but the newest version is ${item.latestVersion}. Read it and try again.`,
    { extra: { current_version: item.latestVersion } },
  );
}

/** The hash of a content that was checked, and what it references. Undefined for a content that is stored already. */
interface Checked {
  /** The hash of the newest content, from which it was computed. */
  newestHash: string;
  hash: string | undefined;
  references: readonly Reference[];
}

/** The newest version has changed since the new content was checked. */
class ChangedMeanwhile extends ConflictError {
  constructor(latestVersion: number) {
    super(
      'version_conflict',
      `Other updates changed the newest version, now ${latestVersion}, again and again. Try again.`,
      {
        extra: { current_version: latestVersion },
      },
    );
  }
}

/**
 * Checks the new content before anything is locked, because the check may take a while, or wait for other work of the
 * workspace.
 */
async function checkAhead<Content>(
  { kind, postgres, checkContent }: Collection<Content>,
  input: UpdateItemInput<Content>,
): Promise<Checked> {
  const { item, version } = await readNewest(postgres, kind, input.project.projectId, input.idOrSlug);
  requireConditions(item, input);
  const wanted = input.merge(version.content);
  const hash = hashAfter(kind, version, wanted);
  const newestHash = version.contentHash;
  if (hash === newestHash) return { newestHash, hash: undefined, references: [] };
  return { newestHash, hash, references: await checkContent(wanted, input) };
}

/** Returns the hash of what a version's content was merged to. */
function hashAfter<Content>(kind: Kind<Content>, { content, contentHash }: Version<Content>, merged: Content): string {
  return merged === content ? contentHash : hashOf(kind, merged);
}

/** Stores changed metadata. Returns whether anything changed. */
async function revise<Content>(
  transaction: Postgres,
  { kind, requireUnused }: Collection<Content>,
  item: Item,
  { metadata }: UpdateItemInput<Content>,
): Promise<boolean> {
  const { slug, name, description, tags } = metadata;
  const isChanged =
    (slug !== undefined && slug !== item.slug) ||
    (name !== undefined && name !== item.name) ||
    (description !== undefined && description !== item.description) ||
    (tags !== undefined && tags.join('\0') !== item.tags.join('\0'));
  if (!isChanged) return false;
  if (slug !== undefined && slug !== item.slug) await requireUnused?.(transaction, item);
  try {
    await reviseItem(transaction, kind, item, metadata);
  } catch (error) {
    throw slug !== undefined && isSlugTaken(error) ? slugTaken(kind, slug) : error;
  }
  return true;
}
