import { type Acting, authorOf, type Collection, changeItem, recordChange } from './collection.ts';
import type { ItemAt } from './item.ts';
import { readItem, readLockedItem, readNewest, readVersion } from './read-item.ts';
import { type Conditions, requireConditions } from './update-item.ts';
import { appendVersion } from './version-store.ts';

export interface RollBackInput extends Acting, Conditions {
  idOrSlug: string;
  /** The version whose content the new version gets. */
  version: number;
  commitMessage: string | null;
}

/**
 * Adds a version with the content of an existing version. Earlier versions are not changed.
 * @throws NotFoundError, ConflictError, PreconditionFailedError
 * @throws the errors of `checkContent` and `versionAdded`
 */
export async function rollBackItem<Content>(
  collection: Collection<Content>,
  input: RollBackInput,
): Promise<ItemAt<Content>> {
  const { kind, postgres } = collection;
  const { projectId } = input.project;
  const known = await readItem(postgres, kind, projectId, input.idOrSlug);
  const { content, contentHash } = await readVersion(postgres, kind, known, input.version);
  const references = await collection.checkContent(content, input);
  return changeItem(collection, input, async (transaction) => {
    const item = await readLockedItem(transaction, kind, projectId, known.id);
    requireConditions(item, input);
    const version = await appendVersion(transaction, kind, item, {
      content,
      contentHash,
      kind: 'rollback',
      author: authorOf(input),
      commitMessage: input.commitMessage,
      parentVersion: item.latestVersion,
      rolledBackFrom: input.version,
    });
    const rolledBack = await readNewest(transaction, kind, projectId, item.id);
    await collection.versionAdded(transaction, rolledBack.item, { version, references });
    const details = { version, rolled_back_from: input.version };
    const { kind: versionKind, parentVersion } = rolledBack.version;
    await recordChange(transaction, collection, input, {
      item,
      did: 'version_created',
      details,
      changes: [{ item, did: 'version_created', version, kind: versionKind, parentVersion }],
    });
    return rolledBack;
  });
}
