/** Who did it: a user's or a key's id, an identity provider's name; none for the operator and for the product itself. */
export interface AuditActor {
  type: 'user' | 'api_key' | 'admin' | 'identity_provider' | 'system';
  id: string | null;
  /** Of the request that did it, if one did. */
  requestId: string | null;
}
