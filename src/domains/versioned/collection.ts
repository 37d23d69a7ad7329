import type { Postgres } from '../../stores/postgres/client.ts';
import type { Invalidations } from '../../stores/postgres/invalidations.ts';
import { inTransaction } from '../../stores/postgres/transaction.ts';
import { type AuditActor, recordAudit } from '../audit/index.ts';
import type { ProjectScope } from '../workspaces/index.ts';
import type { Author, Item, Reference } from './item.ts';
import type { Kind } from './kind.ts';

/** All items of one kind: where they are kept, and what their own domain wants to happen when they change. */
export interface Collection<Content> {
  kind: Kind<Content>;
  postgres: Postgres;
  invalidations: Pick<Invalidations, 'publish'>;
  /** Makes sure that content may be stored, and answers the parts it names. Throws InvalidErrors. */
  checkContent: (content: Content, acting: Acting) => Promise<readonly Reference[]>;
  /** First in every transaction that changes an item. */
  lockFirst?: (transaction: Postgres, projectId: string) => Promise<void>;
  /** In the transaction that adds a version, whose labels point where they will. Throws what forbids it. */
  versionAdded: (transaction: Postgres, item: Item, added: Added) => Promise<void>;
  /** In the transaction that has moved labels, changed the slug or restored the item. Throws what forbids it. */
  checkReferences?: (transaction: Postgres, item: Item) => Promise<void>;
  /** In the transaction, before the item is deleted or gets another slug. Throws what forbids it. */
  requireUnused?: (transaction: Postgres, item: Item) => Promise<void>;
}

export interface Added {
  version: number;
  references: readonly Reference[];
}

/** On whose behalf an item changes. */
export interface Acting {
  project: ProjectScope;
  actor: AuditActor;
  /** Nothing begins for them once their signal is aborted; what has begun goes on. */
  waiter?: { readonly signal: AbortSignal } | undefined;
}

export function authorOf({ actor: { type, id } }: Acting): Author {
  return { type, id };
}

/**
 * Runs a change of one item in one transaction, and tells every process once it is committed. Whatever the change throws undoes
 * it. Throws UnavailableError.
 */
export async function changeItem<Content, Changed extends { item: { id: string } }>(
  { kind, postgres, invalidations, lockFirst }: Collection<Content>,
  { project }: Acting,
  change: (transaction: Postgres) => Promise<Changed>,
): Promise<Changed> {
  const changed = await inTransaction(postgres, async (transaction) => {
    await lockFirst?.(transaction, project.projectId);
    return change(transaction);
  });
  await invalidations.publish(kind.noun, changed.item.id);
  return changed;
}

/** Writes a change into the audit log of its workspace, as `prompt.created`. */
export async function recordChange<Content>(
  transaction: Postgres,
  { kind }: Collection<Content>,
  { project, actor }: Acting,
  change: { item: { id: string; slug: string }; did: string; details?: Readonly<Record<string, unknown>> },
): Promise<void> {
  await recordAudit(transaction, {
    workspaceId: project.workspaceId,
    projectId: project.projectId,
    actor,
    action: `${kind.noun}.${change.did}`,
    targetType: kind.noun,
    targetId: change.item.id,
    details: { slug: change.item.slug, ...change.details },
  });
}
