import { z } from 'zod';
import { pageParams } from '../../http/pagination.ts';
import type { AuditRecord } from './audit-log-store.ts';

const time = z.iso.datetime({ offset: true }).optional();

export const auditQuery = z.strictObject({
  ...pageParams,
  action: z.string().min(1).max(100).optional().meta({ description: 'What was done', example: 'api_key.revoked' }),
  actor: z
    .string()
    .min(1)
    .max(255)
    .optional()
    .meta({ description: 'Who did it: an id, or user, api_key, admin, identity_provider or system', example: 'admin' }),
  from: time.meta({ description: 'At or after' }),
  to: time.meta({ description: 'Before' }),
});

export const auditRecordSchema = z.object({
  id: z.string().meta({ example: 'evt_01k0w2n3t4v5x6y7z8a9b0c1d2' }),
  at: z.iso.datetime(),
  actor: z.object({
    type: z.enum(['user', 'api_key', 'admin', 'identity_provider', 'system']),
    id: z.string().nullable().meta({ example: 'usr_01k0w2n3t4v5x6y7z8a9b0c1d2' }),
  }),
  action: z.string().meta({ example: 'api_key.revoked' }),
  target: z.object({
    type: z.string().meta({ example: 'api_key' }),
    id: z.string().meta({ example: 'key_01k0w2n3t4v5x6y7z8a9b0c1d2' }),
  }),
  project_id: z.string().nullable(),
  details: z.record(z.string(), z.unknown()).meta({ example: { name: 'production' } }),
  request_id: z.string().nullable().meta({ description: 'Of the request that did it' }),
});

/** Converts an audit entry to its API form. */
export function auditRecordToWire(record: AuditRecord): z.infer<typeof auditRecordSchema> {
  const { type, id, requestId } = record.actor;
  return {
    id: record.id,
    at: record.at.toISOString(),
    actor: { type, id },
    action: record.action,
    target: { type: record.targetType, id: record.targetId },
    project_id: record.projectId,
    details: { ...record.details },
    request_id: requestId,
  };
}
