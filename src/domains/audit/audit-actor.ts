/**
 * Who did it. `id` is that of a user or a key, or the name of an identity provider; null for the
 * operator and the service itself.
 */
export interface AuditActor {
  type: 'user' | 'api_key' | 'admin' | 'identity_provider' | 'system';
  id: string | null;
  /** Id of the request that caused it, if any. */
  requestId: string | null;
}
