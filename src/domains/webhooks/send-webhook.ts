import { lookup, Resolver } from 'node:dns/promises';
import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { hostOf, isPublicAddress, type TargetPolicy, targetFault } from './target.ts';

/** Returns the addresses of a name. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

export interface Sending {
  policy: TargetPolicy;
  resolve: Resolve;
  /** For the whole attempt: name, connection, request and response. The body of the response has less. */
  timeoutMs: number;
}

export interface WebhookRequest {
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string;
}

/** What became of an attempt: a status, or the reason why there is none. */
export interface SendResult {
  status: number | null;
  /** The beginning of the response body, without NUL, which Postgres does not store. */
  body: string | null;
  error: string | null;
  retryAfterMs: number | null;
}

/** The rest of a response body is not read. */
const bodyBytesMax = 4_096;
/** How long a body is read. So a body that arrives slowly does not hold a place for the whole attempt. */
const bodyMsMax = 500;
/**
 * Receivers send none, or a few 102 and 103. After the last of these the rest of one read of the socket is
 * still parsed: 64 KiB, which are at most 4,096 of them and take about 4 ms
 * in a process that has run for a while.
 */
const informationalMax = 10;
const errorCharsMax = 500;
const dns = { timeout: 2_000, tries: 2 };

/**
 * Sends one request on a new connection to an address that was checked. Never rejects: an error is
 * a result.
 */
export async function sendWebhook(sending: Sending, sent: WebhookRequest): Promise<SendResult> {
  const fault = targetFault(sent.url, sending.policy);
  if (fault !== undefined) return failed(`The URL ${fault}`);
  const over = AbortSignal.timeout(sending.timeoutMs);
  try {
    const response = await respond(sending, sent, over);
    const status = response.statusCode ?? 0;
    const body = await beginningOf(response);
    return { status, body, error: errorOf(status), retryAfterMs: retryAfterMsOf(response.headers['retry-after']) };
  } catch (error) {
    if (over.aborted) return failed(`No response within ${sending.timeoutMs / 1_000} s`);
    return failed(error instanceof Error ? reasonOf(error) : 'The request failed');
  }
}

/**
 * Returns how names are resolved. The resolver of the system uses a thread of the process for each
 * name, and one workspace could occupy all of them. So only trusted networks use it, for names of their own.
 */
export function resolverFor({ allowPrivate }: TargetPolicy): Resolve {
  if (allowPrivate) return async (name) => (await lookup(name, { all: true })).map(({ address }) => address);
  const resolver = new Resolver(dns);
  return async (name) => {
    const found = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    return found.flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
  };
}

async function respond(sending: Sending, { url, headers, body }: WebhookRequest, signal: AbortSignal) {
  const target = new URL(url);
  const { proxyUrl } = sending.policy;
  const connection: RequestOptions =
    proxyUrl === undefined
      ? { agent: false, lookup: checkedLookup(sending) }
      : { createConnection: tunnelOf(target, await openTunnel(new URL(proxyUrl), target, signal)) };
  const request = target.protocol === 'https:' ? httpsRequest : httpRequest;
  return new Promise<IncomingMessage>((resolve, reject) => {
    const options = { method: 'POST', ...connection, signal, headers: { ...headers, Connection: 'close' } };
    let informational = 0;
    const made = request(target, options)
      .on('response', resolve)
      .on('information', () => {
        informational++;
        if (informational <= informationalMax) return;
        // Rejected here, because a status in the same read would come before the error of the request.
        reject(new Error(`The receiver sent more than ${informationalMax} informational responses`));
        made.destroy();
      })
      .on('upgrade', (_response, socket) => {
        // The client has left the socket to this listener. Once destroyed, it emits no errors.
        socket.destroy();
        reject(new Error('The receiver changed the protocol'));
      })
      .on('error', reject)
      .end(body);
  });
}

/** The connection is made to what this returns, so that a name cannot change its address in between. */
function checkedLookup({ policy, resolve }: Sending): LookupFunction {
  return (hostname, { all }, callback) => {
    resolve(hostname)
      .then((addresses) => {
        const [first] = addresses;
        if (first === undefined) throw new Error('The name of the host has no address');
        if (!policy.allowPrivate && !addresses.every(isPublicAddress)) {
          throw new Error('The name of the host has a private, loopback or reserved address');
        }
        if (!all) return callback(null, first, isIP(first));
        callback(
          null,
          addresses.map((address) => ({ address, family: isIP(address) })),
        );
      })
      .catch((error: Error) => callback(error, '', 0));
  };
}

/** Opens a connection through an HTTP proxy (RFC 9110, section 9.3.6). */
function openTunnel(proxy: URL, target: URL, signal: AbortSignal): Promise<Duplex> {
  const path = `${target.hostname}:${target.port || (target.protocol === 'https:' ? 443 : 80)}`;
  const credentials = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
  const authorization = `Basic ${Buffer.from(credentials).toString('base64')}`;
  const headers = { Host: path, ...(proxy.username === '' ? {} : { 'Proxy-Authorization': authorization }) };
  const request = proxy.protocol === 'https:' ? httpsRequest : httpRequest;
  const { protocol, port } = proxy;
  return new Promise((resolve, reject) => {
    request({ protocol, hostname: hostOf(proxy), port, method: 'CONNECT', path, headers, agent: false, signal })
      .on('connect', ({ statusCode }, socket) => {
        if (statusCode === 200) return resolve(socket);
        socket.destroy();
        reject(new Error(`The egress proxy refused the connection with status ${statusCode}`));
      })
      .on('response', ({ statusCode }) => reject(new Error(`The egress proxy responded with status ${statusCode}`)))
      .on('error', () => reject(new Error('The egress proxy is not reachable')))
      .end();
  });
}

function tunnelOf(target: URL, socket: Duplex): () => Duplex {
  if (target.protocol === 'http:') return () => socket;
  const host = hostOf(target);
  return () => connectTls({ socket, ...(isIP(host) === 0 ? { servername: host } : { host }) });
}

/** Reads the beginning of a body. A body that ends early or late does not change the status. */
async function beginningOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const end = setTimeout(() => response.destroy(), bodyMsMax);
  try {
    for await (const chunk of response) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= bodyBytesMax) break;
    }
  } catch {
    // What was read is kept.
  } finally {
    clearTimeout(end);
    response.destroy();
  }
  return Buffer.concat(chunks).subarray(0, bodyBytesMax).toString('utf8').replaceAll('\0', '');
}

function errorOf(status: number): string | null {
  if (status >= 200 && status < 300) return null;
  if (status >= 300 && status < 400) return `The receiver responded with ${status}; redirects are not followed`;
  return `The receiver responded with ${status}`;
}

/** Reads `Retry-After`: seconds or a date (RFC 9110, section 10.2.3). */
function retryAfterMsOf(header: string | undefined): number | null {
  if (header === undefined) return null;
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) && ms > 0 ? ms : null;
}

function failed(error: string): SendResult {
  return { status: null, body: null, error: error.replaceAll('\0', '').slice(0, errorCharsMax), retryAfterMs: null };
}

/** An error of several attempted addresses has an empty message. */
function reasonOf(error: Error): string {
  if (error instanceof AggregateError) return error.errors.map((each: Error) => each.message).join('; ');
  return error.message;
}
