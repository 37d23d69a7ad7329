import {
  type AppliedIdentityEvent,
  type ApplyIdentityEventDeps,
  applyIdentityEvent,
} from '../../src/domains/identity/index.ts';
import type { IdentityEvent } from '../../src/queue/identity-event.ts';
import type { Invalidations } from '../../src/stores/redis/invalidations.ts';

export interface ProcessIdentityEventDeps extends ApplyIdentityEventDeps {
  invalidations: Pick<Invalidations, 'publish'>;
}

/** Applies the event and, once that is committed, tells every process whose cached access no longer holds. */
export async function processIdentityEvent(
  deps: ProcessIdentityEventDeps,
  event: IdentityEvent,
): Promise<AppliedIdentityEvent['outcome']> {
  const { outcome, users, workspaces } = await applyIdentityEvent(deps, event);
  for (const id of users) await deps.invalidations.publish('user', id);
  for (const id of workspaces) await deps.invalidations.publish('workspace', id);
  return outcome;
}
