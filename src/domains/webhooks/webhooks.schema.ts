import { z } from 'zod';
import { urlCharsMax } from './target.ts';
import { type Webhook, type WebhookEvent, webhookEvents } from './webhook.ts';

export const projectParams = z.strictObject({ project_id: z.string().min(1).max(64) });
export const webhookParams = projectParams.extend({ webhook_id: z.string().min(1).max(64) });

const eventNames = Object.keys(webhookEvents) as WebhookEvent[];

const fields = {
  url: z.string().min(1).max(urlCharsMax).meta({
    description:
      'Where events are sent: https, without credentials, on the port 443, 8443 or 80, on the public internet',
    example: 'https://example.com/hooks/promptlane',
  }),
  events: z
    .array(z.enum(eventNames))
    .min(1)
    .max(eventNames.length)
    .transform((events) => [...new Set(events)])
    .meta({
      description: `The events to send. ${Object.entries(webhookEvents)
        .map(([name, meaning]) => `\`${name}\`: ${meaning}`)
        .join('. ')}`,
      example: ['prompt.version_created'],
    }),
  description: z.string().max(500).nullable().meta({ description: 'What the receiver is', example: 'deploy hook' }),
  enabled: z.boolean().meta({ description: 'Whether events are sent' }),
};

export const createWebhookBody = z
  .strictObject({
    url: fields.url,
    events: fields.events,
    description: fields.description.default(null),
    enabled: fields.enabled.default(true),
  })
  .meta({ example: { url: 'https://example.com/hooks/promptlane', events: ['prompt.version_created'] } });

export const updateWebhookBody = z
  .strictObject({
    url: fields.url.optional(),
    events: fields.events.optional(),
    description: fields.description.optional(),
    enabled: fields.enabled.optional(),
  })
  .meta({ example: { events: ['prompt.version_created', 'prompt.label_moved'] } });

const overlap = { max: 7 * 24 * 60 * 60, default: 24 * 60 * 60 };

export const rotateSecretBody = z
  .strictObject({
    overlap_s: z.int().min(0).max(overlap.max).default(overlap.default).meta({
      description: 'For how many more seconds the old secret signs as well. With 0 it ends at once',
      example: 3_600,
    }),
  })
  .default({ overlap_s: overlap.default });

const time = z.iso.datetime();
const secret = z.string().optional().meta({
  description:
    'The secret that signs. Only the first response contains it. A response repeated for `Idempotency-Key` does not.',
  example: 'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=',
});

export const webhookSchema = z
  .object({
    id: z.string().meta({ example: 'whk_01k0w2n3t4v5x6y7z8a9b0c1d2' }),
    url: z.string(),
    events: z.array(z.enum(eventNames)),
    description: z.string().nullable(),
    enabled: z.boolean(),
    disabled_reason: z.enum(['gone', 'failing']).nullable().meta({
      description: 'Why the service disabled it: `gone` after a response 410, `failing` after 24 hours of failures',
    }),
    consecutive_failures: z.int().meta({ description: 'Failed attempts since the last success' }),
    failing_since: time.nullable(),
    last_attempt_at: time.nullable(),
    previous_secret_until: time.nullable().meta({ description: 'Until when the previous secret signs as well' }),
    created_at: time,
    updated_at: time,
  })
  .meta({ id: 'Webhook' });

export const createdWebhookSchema = webhookSchema.extend({ secret }).meta({ id: 'CreatedWebhook' });

export const rotatedSecretSchema = z
  .object({ id: z.string(), secret, previous_secret_until: time.nullable() })
  .meta({ id: 'RotatedWebhookSecret' });

export const testedWebhookSchema = z
  .object({ event_id: z.string().meta({ example: 'evt_01k0w2n3t4v5x6y7z8a9b0c1d2' }) })
  .meta({ id: 'WebhookTest' });

/** Converts a webhook to its API form, without the secret. */
export function webhookToWire(webhook: Webhook): z.infer<typeof webhookSchema> {
  return {
    id: webhook.id,
    url: webhook.url,
    events: [...webhook.events],
    description: webhook.description,
    enabled: webhook.enabled,
    disabled_reason: webhook.disabledReason,
    consecutive_failures: webhook.consecutiveFailures,
    failing_since: webhook.failingSince?.toISOString() ?? null,
    last_attempt_at: webhook.lastAttemptAt?.toISOString() ?? null,
    previous_secret_until: webhook.previousSecretUntil?.toISOString() ?? null,
    created_at: webhook.createdAt.toISOString(),
    updated_at: webhook.updatedAt.toISOString(),
  };
}
