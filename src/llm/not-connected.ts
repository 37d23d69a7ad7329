import { subscribe } from 'node:diagnostics_channel';

/** Errors of connections that were never made. */
const known = new WeakSet<object>();

// `fetch` tells of such an error before it rejects with it. Its code would not do: a broken connection can have the same
// one after the request was sent, and there are very many codes of certificates.
subscribe('undici:client:connectError', (told) => {
  const error = memberOf(told, 'error');
  if (isObject(error)) known.add(error);
});

/**
 * A request was not sent, because there was no connection to the endpoint: a name without an address, a port that nobody
 * listens on or that does not answer, a certificate that is not valid. Its message has no code, and it has no cause: the
 * client looks in both for words of a timeout, and takes what has them for a request that was sent.
 */
export class NotConnected extends Error {
  /** That of the connection, such as `ECONNREFUSED`. */
  readonly code: string;
  constructor(code: string) {
    super('The endpoint was not reached');
    this.name = 'NotConnected';
    this.code = code;
  }
}

/** Returns why `fetch` has sent nothing; undefined if it may have sent the request. */
export function notConnectedOf(error: unknown): NotConnected | undefined {
  const cause = memberOf(error, 'cause');
  if (!isObject(cause) || !known.has(cause)) return undefined;
  return new NotConnected(String(memberOf(cause, 'code') ?? memberOf(cause, 'name')));
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

const memberOf = (value: unknown, name: string): unknown => (isObject(value) ? Reflect.get(value, name) : undefined);
