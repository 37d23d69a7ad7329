import { z } from 'zod';
import { presets, scopes } from '../auth/index.ts';
import type { ApiKey } from './api-key.ts';
import type { RotatedApiKey } from './rotate-api-key.ts';

export const projectParams = z.strictObject({ project_id: z.string().min(1).max(64) });
export const apiKeyParams = projectParams.extend({
  key_id: z.string().min(1).max(64).meta({ description: 'Id of the key, not its prefix' }),
});

const presetNames = Object.keys(presets) as (keyof typeof presets)[];

export const createApiKeyBody = z
  .strictObject({
    name: z.string().trim().min(1).max(200).meta({ example: 'production' }),
    scopes: z
      .array(z.enum(scopes))
      .min(1)
      .max(scopes.length)
      .optional()
      .meta({ description: 'The scopes of the key; default: every scope', example: ['prompts:read', 'traces:write'] }),
    preset: z.enum(presetNames).optional().meta({ description: 'A named set of scopes. Use it instead of `scopes`' }),
    expires_at: z.iso
      .datetime({ offset: true })
      .refine((time) => Date.parse(time) < Date.UTC(10_000, 0), 'must be before the year 10000 in UTC')
      .nullish()
      .meta({ description: 'When the key expires, a time in the future; null means never' }),
  })
  .refine((body) => body.scopes === undefined || body.preset === undefined, {
    path: ['preset'],
    message: 'give either scopes or preset, not both',
  })
  .meta({ example: { name: 'production', scopes: ['prompts:read', 'traces:write'] } });

const overlapMaxS = 30 * 24 * 60 * 60;

export const rotateApiKeyBody = z
  .strictObject({
    overlap_s: z
      .int()
      .min(0)
      .max(overlapMaxS)
      .default(0)
      .meta({ description: 'How many more seconds the old secret works', example: 3_600 }),
  })
  .default({ overlap_s: 0 });

const common = {
  id: z.string().meta({ example: 'key_01k0w2n3t4v5x6y7z8a9b0c1d2' }),
  name: z.string().meta({ example: 'production' }),
  prefix: z.string().meta({ description: 'The first characters of the secret', example: 'pl_4Kd93mZq1xWb' }),
  last4: z.string().meta({ description: 'The last four characters of the secret', example: 'a9Xc' }),
  scopes: z.array(z.string()).meta({ example: ['prompts:read', 'traces:write'] }),
  created_at: z.iso.datetime(),
  expires_at: z.iso.datetime().nullable(),
};

export const apiKeySchema = z
  .object({
    ...common,
    last_used_at: z.iso
      .datetime()
      .nullable()
      .meta({ description: 'When the key was last used, exact to the minute; null when it was never used' }),
    revoked_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'ApiKey' });

export const createdApiKeySchema = z
  .object({
    ...common,
    key: z.string().optional().meta({
      description:
        'The secret. Only the first response contains it. A response repeated for `Idempotency-Key` does not.',
      example: 'pl_4Kd93mZq1xWb_00000000-an-example-and-no-real-secret-0000_a9Xc00',
    }),
  })
  .meta({ id: 'CreatedApiKey' });

export const rotatedApiKeySchema = createdApiKeySchema
  .extend({
    previous: z.object({
      id: z.string().meta({ example: 'key_01jzzzn3t4v5x6y7z8a9b0c1d2' }),
      ends_at: z.iso.datetime().meta({ description: 'When the old secret stops working' }),
    }),
  })
  .meta({ id: 'RotatedApiKey' });

/** Converts a key to its API form, without the secret. */
export function apiKeyToWire(apiKey: ApiKey): z.infer<typeof apiKeySchema> {
  return {
    ...commonToWire(apiKey),
    last_used_at: apiKey.lastUsedAt?.toISOString() ?? null,
    revoked_at: apiKey.revokedAt?.toISOString() ?? null,
  };
}

/** Converts a new key to its API form, with the secret. */
export function createdApiKeyToWire(apiKey: ApiKey, key: string): z.infer<typeof createdApiKeySchema> {
  return { ...commonToWire(apiKey), key };
}

/** Converts a rotated key to its API form, with the new secret and the end of the old key. */
export function rotatedApiKeyToWire({ apiKey, key, previous }: RotatedApiKey): z.infer<typeof rotatedApiKeySchema> {
  return {
    ...createdApiKeyToWire(apiKey, key),
    previous: { id: previous.id, ends_at: previous.endsAt.toISOString() },
  };
}

function commonToWire(apiKey: ApiKey) {
  return {
    id: apiKey.id,
    name: apiKey.name,
    prefix: `pl_${apiKey.lookupId}`,
    last4: apiKey.last4,
    scopes: [...apiKey.scopes],
    created_at: apiKey.createdAt.toISOString(),
    expires_at: apiKey.expiresAt?.toISOString() ?? null,
  };
}
