export type { AuditActor } from './audit-actor.ts';
export { type AuditEntry, recordAudit } from './record-audit.ts';
