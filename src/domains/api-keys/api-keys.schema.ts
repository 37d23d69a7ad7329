import { z } from 'zod';
import { presets, scopes } from '../auth/index.ts';
import type { ApiKey } from './api-key.ts';

export const projectParams = z.strictObject({ project_id: z.string().min(1).max(64) });

const presetNames = Object.keys(presets) as (keyof typeof presets)[];

export const createApiKeyBody = z
  .strictObject({
    name: z.string().trim().min(1).max(200),
    scopes: z.array(z.enum(scopes)).min(1).max(scopes.length).optional(),
    preset: z.enum(presetNames).optional(),
    expires_at: z.iso.datetime({ offset: true }).nullish(),
  })
  .refine((body) => body.scopes === undefined || body.preset === undefined, {
    path: ['preset'],
    message: 'give either scopes or preset, not both',
  });

export const createdApiKeySchema = z.object({
  id: z.string(),
  key: z.string().meta({ description: 'The secret. It is shown only in this answer.' }),
  name: z.string(),
  prefix: z.string(),
  last4: z.string(),
  scopes: z.array(z.string()),
  created_at: z.iso.datetime(),
  expires_at: z.iso.datetime().nullable(),
});

export function createdApiKeyToWire(apiKey: ApiKey, key: string): z.infer<typeof createdApiKeySchema> {
  return {
    id: apiKey.id,
    key,
    name: apiKey.name,
    prefix: `pl_${apiKey.lookupId}`,
    last4: apiKey.last4,
    scopes: [...apiKey.scopes],
    created_at: apiKey.createdAt.toISOString(),
    expires_at: apiKey.expiresAt?.toISOString() ?? null,
  };
}
