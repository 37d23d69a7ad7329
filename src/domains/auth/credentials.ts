import type { IncomingMessage } from 'node:http';
import { UnauthenticatedError } from '../../lib/errors.ts';

export type Credential = { kind: 'api_key' | 'admin_key' | 'token'; value: string };

const kinds: Readonly<Record<string, Credential['kind']>> = {
  'x-api-key': 'api_key',
  'x-admin-key': 'admin_key',
  authorization: 'token',
};

/**
 * The one credential of a request. Two of them, also twice the same header, leave open who is meant, and proxies disagree on which
 * counts: such a request is refused.
 * @throws UnauthenticatedError
 */
export function credentialOf({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>): Credential {
  let found: Credential | undefined;
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const kind = kinds[rawHeaders[index]?.toLowerCase() ?? ''];
    const value = rawHeaders[index + 1]?.trim();
    if (kind === undefined || value === undefined || value === '') continue;
    if (found !== undefined) {
      throw new UnauthenticatedError(
        'invalid_credentials',
        'Send one credential: X-API-Key, Authorization or X-Admin-Key, once.',
      );
    }
    found = { kind, value };
  }
  if (found === undefined) {
    throw new UnauthenticatedError(
      'credentials_required',
      'Send an API key in the X-API-Key header or a token as Authorization: Bearer.',
    );
  }
  return found.kind === 'token' ? { kind: 'token', value: bearerToken(found.value) } : found;
}

/** RFC 6750, 2.1; the scheme's name is not case-sensitive (RFC 9110, 11.1). */
function bearerToken(value: string): string {
  const match = /^Bearer +([^\s]+)$/i.exec(value);
  if (match?.[1] !== undefined) return match[1];
  throw new UnauthenticatedError('invalid_credentials', 'The Authorization header must be of the form Bearer <token>.');
}
