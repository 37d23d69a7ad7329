import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { header } from './request.ts';

/** The refusal of a request, as the HTTP interface of ClickHouse reports it. */
export interface Refusal {
  status: 403 | 421;
  text: string;
}

const ownHost = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?$/;

/**
 * Checks who may send queries: a client on this machine that knows the password. Requests of web
 * pages are refused, because browsers send the origin. With DNS rebinding, the Host header has
 * another name, which is refused too. Without a password, every client on this machine may send
 * queries.
 */
export function refusalOf(
  request: IncomingMessage,
  search: URLSearchParams,
  password: string | undefined,
): Refusal | undefined {
  const { host = '', origin } = request.headers;
  if (!ownHost.test(host))
    return { status: 421, text: `Host ${JSON.stringify(host.slice(0, 80))} is not this server\n` };
  if (origin !== undefined && origin !== `http://${host}`) {
    return { status: 403, text: `Origin ${JSON.stringify(origin.slice(0, 80))} is not this server's\n` };
  }
  if (password === undefined || isEqual(givenPassword(request, search), password)) return undefined;
  return {
    status: 403,
    text: 'Code: 516. DB::Exception: Authentication failed: password is incorrect. (AUTHENTICATION_FAILED)\n',
  };
}

/** Reads the password like a real server: from Authorization, its own header, or a parameter. */
function givenPassword(request: IncomingMessage, search: URLSearchParams): string {
  const [scheme = '', encoded = ''] = (header(request, 'authorization') ?? '').split(' ');
  if (scheme.toLowerCase() === 'basic') {
    const given = Buffer.from(encoded, 'base64').toString('utf8');
    return given.slice(given.indexOf(':') + 1);
  }
  return header(request, 'x-clickhouse-key') ?? search.get('password') ?? '';
}

function isEqual(given: string, wanted: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(wanted));
}
