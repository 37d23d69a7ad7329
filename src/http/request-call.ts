import type { IncomingHttpHeaders } from 'node:http';
import type { Request, Response } from 'express';
import type { CommonCall, Headers } from './endpoint.ts';
import { parseQueryString, type QueryValues } from './query.ts';
import type { RequestBody } from './request-body.ts';
import { contextOf, setHeaders } from './request-context.ts';
import type { PathParams } from './validate.ts';

/** A caller who was authorized so recently is not checked again. Most requests take less. */
const recheckMs = 500;

interface CallParts<P> {
  req: Request;
  res: Response;
  params: PathParams;
  principal: P | undefined;
  body: RequestBody;
  /** When the request began, in milliseconds since the epoch. */
  beganAtMs: number;
  /** Authorizes the caller again. A token must not have expired at `atMs`, by default now. */
  authorize: (atMs?: number) => Promise<P | undefined>;
}

/**
 * A request that was authorized, for its handler. A class because of its getter: an object literal would create the
 * getter again for every request, which is expensive. See `ParsedCall`.
 */
export class Call<P> implements CommonCall<P> {
  readonly params: PathParams;
  readonly query: QueryValues;
  readonly headers: IncomingHttpHeaders;
  readonly requestId: string;
  readonly setHeaders: (headers: Headers) => void;
  readonly receive: (bytesMax: number) => Promise<Buffer>;
  readonly reauthorize: () => Promise<void>;
  readonly recheck: () => Promise<void>;
  principal: P | undefined;
  readonly #res: Response;
  #signal: AbortSignal | undefined;

  constructor({ req, res, params, principal, body, beganAtMs, authorize }: CallParts<P>) {
    const { requestId } = contextOf(res);
    const queryStart = req.url.indexOf('?');
    this.params = params;
    this.query = parseQueryString(queryStart < 0 ? '' : req.url.slice(queryStart));
    this.headers = req.headers;
    this.requestId = requestId;
    this.setHeaders = (headers) => setHeaders(res, headers);
    this.receive = async (bytesMax) => {
      const received = await body.receive(bytesMax);
      await this.recheck();
      return received;
    };
    this.reauthorize = async () => void (await authorize());
    let checkedAtMs = performance.now();
    this.recheck = async () => {
      const nowMs = performance.now();
      if (nowMs - checkedAtMs < recheckMs) return;
      this.principal = await authorize(beganAtMs);
      checkedAtMs = nowMs;
    };
    this.principal = principal;
    this.#res = res;
  }

  get signal(): AbortSignal {
    this.#signal ??= closeSignal(this.#res);
    return this.#signal;
  }
}

/** Used as the abort reason, because the default reason captures a stack trace on every request. */
export const closed = new Error('The response was sent or the client has disconnected');

function closeSignal(res: Response): AbortSignal {
  const controller = new AbortController();
  if (res.closed) controller.abort(closed);
  else res.once('close', () => controller.abort(closed));
  return controller.signal;
}
