import type { IdentityVerb } from '../../queue/identity-event.ts';

const rank: Readonly<Record<IdentityVerb, number>> = { created: 0, updated: 1, deleted: 2 };

/**
 * When the provider said it, as RFC 3339 with microseconds. Providers count in milliseconds; the digits below order what they say
 * within one: something is created before it is updated, and deleted last.
 */
export function sourceTime(occurredAtMs: number, verb: IdentityVerb): string {
  return new Date(occurredAtMs).toISOString().replace('Z', `00${rank[verb]}Z`);
}
