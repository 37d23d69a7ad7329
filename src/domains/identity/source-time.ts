import type { IdentityVerb } from '../../queue/identity-event.ts';

const rank: Readonly<Record<IdentityVerb, number>> = { created: 0, updated: 1, deleted: 2 };

/**
 * Returns the time of a statement as RFC 3339 with microseconds. Providers use milliseconds. The
 * digits below order statements of the same millisecond: created, then updated, then deleted.
 */
export function sourceTime(occurredAtMs: number, verb: IdentityVerb): string {
  return new Date(occurredAtMs).toISOString().replace('Z', `00${rank[verb]}Z`);
}
