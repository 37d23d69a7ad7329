import type { Postgres } from '../../stores/postgres/client.ts';
import type { Invalidations } from '../../stores/postgres/invalidations.ts';
import { inTransaction } from '../../stores/postgres/transaction.ts';
import { type AuditActor, recordAudit } from '../audit/index.ts';
import type { ProjectScope } from '../workspaces/index.ts';
import type { Author, Item, Reference, VersionKind } from './item.ts';
import type { Kind } from './kind.ts';

/** What happened to an item, for the domains that report it. */
export type ItemChange = { item: Pick<Item, 'id' | 'slug' | 'name'> } & (
  | { did: 'version_created'; version: number; kind: VersionKind; parentVersion: number | null }
  /** `from` is null for a new label, `to` for a removed one. */
  | { did: 'label_moved'; label: string; from: number | null; to: number | null }
  | { did: 'deleted' }
);

/**
 * All items of one kind: where they are stored, and the hooks of their domain that run when they
 * change.
 */
export interface Collection<Content> {
  kind: Kind<Content>;
  postgres: Postgres;
  invalidations: Pick<Invalidations, 'publish'>;
  /**
   * Checks that content may be stored and returns the parts it references.
   * @throws InvalidError
   */
  checkContent: (content: Content, acting: Acting) => Promise<readonly Reference[]>;
  /** Runs first in every transaction that changes an item. */
  lockFirst?: (transaction: Postgres, projectId: string) => Promise<void>;
  /**
   * Runs in the transaction that adds a version, after its labels are set. Throws to refuse the
   * version.
   */
  versionAdded: (transaction: Postgres, item: Item, added: Added) => Promise<void>;
  /**
   * Runs in the transaction that moved labels, or changed the slug or restored the item: `isFound` says the latter, so
   * that references find versions of it that they did not find before. Throws to refuse the change.
   */
  checkReferences?: (transaction: Postgres, item: Item, change: { isFound: boolean }) => Promise<void>;
  /**
   * Runs in the transaction before the item is deleted or gets another slug. Throws to refuse the
   * change.
   */
  requireUnused?: (transaction: Postgres, item: Item) => Promise<void>;
  /** Runs last in the transaction of a change, to tell other domains what happened. */
  changed?: ChangeHook | undefined;
}

export type ChangeHook = (transaction: Postgres, acting: Acting, changes: readonly ItemChange[]) => Promise<void>;

export interface Added {
  version: number;
  references: readonly Reference[];
}

/** The project and actor on whose behalf an item changes. */
export interface Acting {
  project: Pick<ProjectScope, 'projectId' | 'workspaceId'>;
  actor: AuditActor;
  /** No work begins after its signal is aborted; work that has begun continues. */
  waiter?: { readonly signal: AbortSignal } | undefined;
}

/** Returns the actor as the author of a version or label move. */
export function authorOf({ actor: { type, id } }: Acting): Author {
  return { type, id };
}

/** An import holds its locks for up to 120 s. A change that waits for them gives its connection back after this time. */
const lockWaitMsMax = 1_000;

/**
 * Runs a change of one item in one transaction. After the commit, requests every process to invalidate
 * its cache. Any error of the change rolls the transaction back.
 * @throws UnavailableError, also `query_timeout` after a wait of {@link lockWaitMsMax} for a lock
 * @throws the errors of the change
 */
export async function changeItem<Content, Changed extends { item: { id: string } }>(
  { kind, postgres, invalidations, lockFirst }: Collection<Content>,
  { project }: Acting,
  change: (transaction: Postgres) => Promise<Changed>,
): Promise<Changed> {
  const changed = await inTransaction(postgres, async (transaction) => {
    await transaction.raw(`set local lock_timeout = ${lockWaitMsMax}`);
    await lockFirst?.(transaction, project.projectId);
    return change(transaction);
  });
  await invalidations.publish(kind.noun, [changed.item.id]);
  return changed;
}

/**
 * Records a change in the audit log of its workspace, with an action such as `prompt.created`, and
 * passes `changes` to the collection's hook.
 */
export async function recordChange<Content>(
  transaction: Postgres,
  { kind, changed }: Collection<Content>,
  acting: Acting,
  change: {
    item: { id: string; slug: string };
    did: string;
    details?: Readonly<Record<string, unknown>>;
    changes?: readonly ItemChange[];
  },
): Promise<void> {
  const { project, actor } = acting;
  await recordAudit(transaction, {
    workspaceId: project.workspaceId,
    projectId: project.projectId,
    actor,
    action: `${kind.noun}.${change.did}`,
    targetType: kind.noun,
    targetId: change.item.id,
    details: { slug: change.item.slug, ...change.details },
  });
  if (change.changes !== undefined && change.changes.length > 0) await changed?.(transaction, acting, change.changes);
}
