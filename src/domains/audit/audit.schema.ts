import { z } from 'zod';
import { pageParams } from '../../http/pagination.ts';
import type { AuditRecord } from './audit-log-store.ts';

const time = z.iso.datetime({ offset: true }).optional();

export const auditQuery = z.strictObject({
  ...pageParams,
  action: z.string().min(1).max(100).optional().meta({ description: 'The kind of event', example: 'api_key.revoked' }),
  actor: z.string().min(1).max(255).optional().meta({
    description: 'Who caused the event: an id, or one of user, api_key, admin, identity_provider and system',
    example: 'admin',
  }),
  from: time.meta({ description: 'Events at or after this time' }),
  to: time.meta({ description: 'Events before this time' }),
});

export const auditRecordSchema = z
  .object({
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
    request_id: z.string().nullable().meta({ description: 'Id of the request that caused the event' }),
  })
  .meta({ id: 'AuditRecord' });

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
