import type { Postgres } from '../../stores/postgres/client.ts';
import { type Acting, authorOf, type Collection, changeItem, recordChange } from './collection.ts';
import type { Item } from './item.ts';
import { hashOf } from './kind.ts';
import { readLockedItem, readNewest } from './read-item.ts';
import { appendVersion } from './version-store.ts';

export interface AddVersionInput<Content> extends Acting {
  idOrSlug: string;
  content: Content;
  optimizationRunId: string;
  commitMessage: string;
  /**
   * Runs first, while the item is locked. Returns the number of the version if it exists already.
   * Throws to refuse it.
   */
  before: (transaction: Postgres, item: Item) => Promise<number | undefined>;
  /** Runs in the transaction that has added the version. */
  after: (transaction: Postgres, version: number) => Promise<void>;
}

/**
 * Adds the version that an optimization run made. Returns its number.
 * @throws NotFoundError, the errors of `checkContent` and `versionAdded`, and those of `before`
 */
export async function addVersion<Content>(
  collection: Collection<Content>,
  input: AddVersionInput<Content>,
): Promise<{ version: number; isNew: boolean }> {
  const { kind } = collection;
  const { project, content } = input;
  const references = await collection.checkContent(content, input);
  return changeItem(collection, input, async (transaction) => {
    const item = await readLockedItem(transaction, kind, project.projectId, input.idOrSlug);
    const existing = await input.before(transaction, item);
    if (existing !== undefined) return { item, version: existing, isNew: false };
    const version = await appendVersion(transaction, kind, item, {
      ...{
        content,
        contentHash: hashOf(kind, content),
        kind: 'optimization',
        author: authorOf(input),
        commitMessage: input.commitMessage,
      },
      ...{ parentVersion: item.latestVersion, optimizationRunId: input.optimizationRunId },
    });
    const added = await readNewest(transaction, kind, project.projectId, item.id);
    await collection.versionAdded(transaction, added.item, { version, references });
    const { kind: versionKind, parentVersion } = added.version;
    await recordChange(transaction, collection, input, {
      ...{ item, did: 'version_created', details: { version, optimization_run_id: input.optimizationRunId } },
      changes: [{ item, did: 'version_created', version, kind: versionKind, parentVersion }],
    });
    await input.after(transaction, version);
    return { item, version, isNew: true };
  });
}
