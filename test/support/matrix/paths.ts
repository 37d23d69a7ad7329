import { randomUUID } from 'node:crypto';
import { newId } from '../../../src/lib/ids.ts';
import { newTraceId } from '../spans.ts';
import type { Place, Tenants } from './tenants.ts';

/** The values that replace a path parameter. `own` is a resource of the caller. */
export const kindsOfId = ['own', 'sibling', 'foreign', 'unknown', 'malformed', '..%2f', '10 kB', '__proto__'] as const;
export type KindOfId = (typeof kindsOfId)[number];

/**
 * For each parameter: the value that belongs to a place, and one that never existed. A parameter
 * that is not listed fails the matrix.
 */
const parameters: Readonly<Record<string, { of: (place: Place) => string; unknown: () => string }>> = {
  workspace_id: { of: ({ project }) => project.workspaceId, unknown: () => newId('wsp') },
  project_id: { of: ({ project }) => project.id, unknown: () => newId('prj') },
  trace_id: { of: ({ traceId }) => traceId, unknown: newTraceId },
  span_id: { of: ({ spanId }) => spanId, unknown: () => randomUUID().replaceAll('-', '').slice(0, 16) },
  part: { of: ({ spanPart }) => spanPart, unknown: () => 'nothing' },
  key_id: { of: ({ keyId }) => keyId, unknown: () => newId('key') },
  user_id: { of: ({ userId }) => userId, unknown: () => newId('usr') },
  body_id: { of: ({ bodyId }) => bodyId, unknown: () => `b_${randomUUID()}` },
  // Prompts and parts are named by their id or by their slug.
  prompt_id: { of: ({ promptId }) => promptId, unknown: () => newId('prm') },
  part_id: { of: ({ partSlug }) => partSlug, unknown: () => `part-${randomUUID()}` },
  // The prompts and parts of the other places have labels and versions that the own ones do not have.
  label: { of: ({ label }) => label, unknown: () => 'nowhere' },
  version: { of: ({ versions }) => String(versions), unknown: () => '2147483647' },
  webhook_id: { of: ({ webhookId }) => webhookId, unknown: () => newId('whk') },
  delivery_id: { of: ({ deliveryId }) => deliveryId, unknown: () => newId('dlv') },
  run_id: { of: ({ runId }) => runId, unknown: () => newId('opt') },
  candidate_id: { of: ({ candidateId }) => candidateId, unknown: () => 'nobody' },
  feedback_id: { of: ({ feedbackId }) => feedbackId, unknown: () => newId('fbk') },
  failed_event_id: { of: ({ failedEventId }) => failedEventId, unknown: () => randomUUID() },
  // No provider is configured here, so every provider is unknown.
  identity_provider: { of: () => 'clerk', unknown: () => 'nobody' },
};

/** The values of the other kinds. */
const spelledOut: ReadonlyMap<string, string> = new Map([
  ['malformed', "not' an id;"],
  ['10 kB', 'x'.repeat(10_000)],
]);

export function namesIn(path: string): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '');
}

/** Returns a value for a parameter. Throws if there is none. So a new parameter is noticed. */
export function idFor(name: string, kind: KindOfId, tenants: Tenants): string {
  const parameter = parameters[name];
  if (parameter === undefined) throw new Error(`The matrix has no values for the path parameter ${name}`);
  if (kind === 'own' || kind === 'sibling' || kind === 'foreign') return parameter.of(tenants[kind]);
  return kind === 'unknown' ? parameter.unknown() : (spelledOut.get(kind) ?? kind);
}

/** Returns the path with these ids. An id that already contains an escape is not encoded again. */
export function pathWith(path: string, ids: Readonly<Record<string, string>>): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name) => {
    const id = ids[name] ?? '';
    return id.includes('%') ? id : encodeURIComponent(id);
  });
}
