import type { IncomingMessage } from 'node:http';
import { UnauthenticatedError } from '../../lib/errors.ts';

export type Credential = { kind: 'api_key' | 'admin_key' | 'token'; value: string };

const kinds: Readonly<Record<string, Credential['kind']>> = {
  'x-api-key': 'api_key',
  'x-admin-key': 'admin_key',
  authorization: 'token',
};

/**
 * Returns the only credential of a request.
 * @throws UnauthenticatedError when there is none or more than one
 */
export function credentialOf(request: Pick<IncomingMessage, 'rawHeaders'>): Credential {
  const found = findCredential(request);
  if (found !== undefined) return found;
  throw new UnauthenticatedError(
    'credentials_required',
    'The request has no credential. Send an API key in the X-API-Key header or a token in the Authorization header as Bearer <token>.',
  );
}

/**
 * Returns the only credential in the headers, if there is one. With two credentials, even in the
 * same header, it is unclear which one counts, and proxies treat this differently. Such a request is
 * refused.
 * @throws UnauthenticatedError when there is more than one
 */
export function findCredential({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>): Credential | undefined {
  let found: Credential | undefined;
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const kind = kinds[rawHeaders[index]?.toLowerCase() ?? ''];
    const value = rawHeaders[index + 1]?.trim();
    if (kind === undefined || value === undefined || value === '') continue;
    if (found !== undefined) {
      throw new UnauthenticatedError(
        'invalid_credentials',
        'The request has more than one credential. Send exactly one of X-API-Key, Authorization and X-Admin-Key.',
      );
    }
    found = { kind, value };
  }
  return found?.kind === 'token' ? { kind: 'token', value: bearerToken(found.value) } : found;
}

/**
 * Returns the token of an Authorization header (RFC 6750, 2.1). The scheme name is case-insensitive
 * (RFC 9110, 11.1).
 * @throws UnauthenticatedError for any other form
 */
function bearerToken(value: string): string {
  const match = /^Bearer +([^\s]+)$/i.exec(value);
  if (match?.[1] !== undefined) return match[1];
  throw new UnauthenticatedError('invalid_credentials', 'The Authorization header must have the form Bearer <token>.');
}
