import { contentEtag } from '../../http/etag.ts';
import { NotFoundError } from '../../lib/errors.ts';
import type { ProjectId, WorkspaceId } from '../../lib/ids.ts';
import type { EventType } from '../events/index.ts';

/** Webhooks of one project, and of one workspace. Each may have two deliveries in progress. */
export const webhooksMax = { perProject: 20, perWorkspace: 1_000 };

/** The types of events that a webhook may want, with when they happen. Every webhook gets its own tests. */
export const webhookEvents = {
  'budget.threshold_reached': 'The spend reached a threshold of the budget',
  'prompt.version_created': 'A prompt has a new version',
  'prompt.label_moved': 'A label points at another version, is new or was removed',
  'prompt.deleted': 'A prompt was deleted',
  'optimization.finished': 'An optimization run ended',
  'quota.threshold_reached': 'The usage of the workspace reached a threshold of a quota',
} as const satisfies Record<Exclude<EventType, 'webhook.test'>, string>;

export type WebhookEvent = keyof typeof webhookEvents;

/** A receiver of events, without its secret. */
export interface Webhook {
  id: string;
  workspaceId: WorkspaceId;
  projectId: ProjectId;
  url: string;
  description: string | null;
  events: readonly WebhookEvent[];
  enabled: boolean;
  /** Why the service disabled it: `gone` after a 410, `failing` after a day of failures. */
  disabledReason: 'gone' | 'failing' | null;
  /** Until when the previous secret signs as well. */
  previousSecretUntil: Date | null;
  consecutiveFailures: number;
  failingSince: Date | null;
  lastAttemptAt: Date | null;
  createdAt: Date;
  updatedAt: Date;
}

/** Returns the entity tag of what a caller can change. Deliveries change it only when they disable the webhook. */
export function webhookTag({ url, description, events, enabled, updatedAt }: Webhook): string {
  // With the values, because two changes may have the same millisecond.
  return contentEtag(JSON.stringify([url, description, events, enabled, updatedAt]));
}

/** Creates the error for an unknown webhook. A webhook of another project gets the same error. */
export function unknownWebhook(id: string): NotFoundError {
  return new NotFoundError('webhook_not_found', `This project has no webhook ${JSON.stringify(id.slice(0, 80))}.`);
}
