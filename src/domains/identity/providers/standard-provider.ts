import { z } from 'zod';
import { parseBody } from '../../../http/validate.ts';
import type { IdentityProvider } from '../identity-provider.ts';
import { eventTime } from './event-time.ts';
import { type ChangeReaders, readChange } from './read-change.ts';
import { standardWebhookId, standardWebhookSentAtMs, verifyStandardWebhook } from './standard-webhooks.ts';

const typed = z.looseObject({ type: z.string().min(1) });
const times = z.looseObject({
  timestamp: eventTime.nullish(),
  data: z.looseObject({ updated_at: eventTime.nullish() }),
});

/**
 * Creates a provider that signs according to Standard Webhooks and sends `{type, timestamp, data}`.
 * There is one reader per kind of `data`.
 */
export function standardProvider(readers: ChangeReaders): IdentityProvider {
  return {
    verify: verifyStandardWebhook,
    extractId: standardWebhookId,
    extractType: ({ payload }) => parseBody(typed, payload).type,
    extractOccurredAt: (event) => {
      const { data, timestamp } = parseBody(times, event.payload);
      return data.updated_at ?? timestamp ?? standardWebhookSentAtMs(event);
    },
    toChange: ({ payload }) => readChange(readers, parseBody(typed, payload).type, payload),
  };
}
