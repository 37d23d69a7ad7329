import { z } from 'zod';
import { parseBody } from '../../../http/validate.ts';
import type { IdentityProvider, ReceivedEvent } from '../identity-provider.ts';
import { changedAtMs, eventTime } from './event-time.ts';
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
  const extractType = ({ payload }: ReceivedEvent) => parseBody(typed, payload).type;
  return {
    verify: verifyStandardWebhook,
    extractId: standardWebhookId,
    extractType,
    extractOccurredAt: (event) => {
      const { data, timestamp } = parseBody(times, event.payload);
      const sentAtMs = standardWebhookSentAtMs(event);
      return changedAtMs(extractType(event), { updatedAtMs: data.updated_at, eventAtMs: timestamp, sentAtMs });
    },
    toChange: (event) => readChange(readers, extractType(event), event.payload),
  };
}
