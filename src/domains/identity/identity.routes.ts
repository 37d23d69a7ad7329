import type { Response } from 'express';
import { z } from 'zod';
import { rawEndpoint } from '../../http/endpoint.ts';
import { networkOf } from '../../lib/network-of.ts';
import { countIdentityEvent } from '../../queue/identity-event-counts.ts';
import type { Redis } from '../../stores/redis/client.ts';
import type { Logger } from '../../telemetry/logger.ts';
import { type BoundWebhookDeps, boundWebhook } from '../quotas/index.ts';
import { type FailedEventsDeps, failedEventsEndpoints } from './failed-events.routes.ts';
import {
  type Receipt,
  type ReceiveIdentityWebhookDeps,
  receiveIdentityWebhook,
  webhookBytesMax,
} from './receive-identity-webhook.ts';

const receiptSchema = z
  .object({
    event_id: z.string(),
    duplicate: z.boolean().meta({ description: 'Whether the event was queued or applied before' }),
    ignored: z.boolean().meta({ description: 'Whether the service ignores this type of event' }),
  })
  .meta({ id: 'IdentityEventReceipt' });

export type IdentityDeps = Omit<ReceiveIdentityWebhookDeps, 'count'> &
  BoundWebhookDeps &
  FailedEventsDeps & { redis: Redis; logger: Logger };

/**
 * Creates the webhook endpoint of the identity providers and the operator endpoints for failed
 * events.
 */
export function identityEndpoints(deps: IdentityDeps) {
  const count: ReceiveIdentityWebhookDeps['count'] = (provider, outcome) =>
    void countIdentityEvent(deps.redis, provider, outcome).catch(() => undefined);
  return [
    ...failedEventsEndpoints(deps),
    rawEndpoint({
      operationId: 'receiveIdentityWebhook',
      method: 'POST',
      path: '/api/webhooks/{identity_provider}',
      summary: 'Receive an event of an identity provider',
      description:
        'The provider is `clerk`, `workos`, or `generic` for any sender of Standard Webhooks. Its secrets must be configured. The signature ' +
        'is the credential. The service responds after the event is durable. A worker then applies the event.',
      tag: 'identity',
      access: { open: true },
      rateClass: 'webhook',
      params: z.strictObject({ identity_provider: z.string() }),
      bodyBytesMax: webhookBytesMax,
      responses: {
        202: { description: 'The event is queued, was queued before, or is ignored', schema: receiptSchema },
      },
      problems: [
        'provider_not_found',
        'invalid_signature',
        'body_too_large',
        'unsupported_media_type',
        'unsupported_content_encoding',
        'malformed_json',
        'invalid_body',
        'queue_unavailable',
      ],
      handle: async (request, response, { params, requestId, setHeaders, receive, headers }) => {
        const provider = params.identity_provider;
        const source = { provider, address: networkOf(request.socket.remoteAddress), setHeaders };
        const receipt = await boundWebhook(deps, source, (admit) =>
          receiveIdentityWebhook({ ...deps, count }, provider, { headers, receive }, admit),
        );
        const { type, duplicate, ignored } = receipt;
        deps.logger.info(
          { request_id: requestId, provider, type: type.slice(0, 100), duplicate, ignored },
          'identity event',
        );
        sendReceipt(response, receipt);
      },
    }),
  ];
}

function sendReceipt(response: Response, { eventId, duplicate, ignored }: Receipt): void {
  const body: z.infer<typeof receiptSchema> = { event_id: eventId, duplicate, ignored };
  const bytes = Buffer.from(JSON.stringify(body));
  response.status(202).setHeader('Content-Type', 'application/json');
  response.setHeader('Content-Length', bytes.length);
  response.end(bytes);
}
