import type { IncomingHttpHeaders } from 'node:http';
import type { Request, Response } from 'express';
import { z } from 'zod';
import type { Access, Contract, Headers, Responses, Result, ResultOf } from './contract.ts';
import { changesUntagged, type IfMatch, parseIfMatch, requireMatch } from './etag.ts';
import type { Problem } from './problem.ts';
import type { QueryValues } from './query.ts';
import { type PathParams, parseBody, parseParams, parseQuery } from './validate.ts';

export type {
  Access,
  Contract,
  Headers,
  MediaType,
  Method,
  RateClass,
  Responses,
  Result,
  Status,
} from './contract.ts';

/** What the pipeline passes on before validation; see `app.ts` for the order. */
export interface CommonCall<P> {
  params: PathParams;
  query: QueryValues;
  headers: IncomingHttpHeaders;
  principal: P | undefined;
  requestId: string;
  /**
   * Aborted when the response has been sent or the client has left, so that work without a reader can
   * stop. Created on first use.
   */
  signal: AbortSignal;
  /** Sets headers on the response, also when it becomes an error. */
  setHeaders: (headers: Headers) => void;
  /**
   * Reads the body as it was sent, within the caller's limit of this process's memory. Throws as
   * `receiveBody`.
   */
  receive: (bytesMax: number) => Promise<Buffer>;
  /**
   * Decides again whether the caller may do this, for responses that last. Throws as `authorize` of
   * `createApp`.
   */
  reauthorize: () => Promise<void>;
  /**
   * Decides again whether the caller may do this, unless that was decided within the last half second. It is for requests
   * that last, because of their body, their turn or their answer: a token that expires meanwhile stays valid. It is done
   * after {@link receive}, and before the handler of a JSON endpoint. Throws as `reauthorize`.
   */
  recheck: () => Promise<void>;
}
export interface RawCall<P> extends CommonCall<P> {
  /**
   * Reads and parses the JSON body; `undefined` for an empty body. Called only when the contract
   * has a body.
   */
  readBody: () => Promise<unknown>;
  /**
   * Runs the handler, or returns the stored response of the same earlier request. `body` is the
   * parsed JSON.
   */
  once: (body: unknown, run: (effectId: string) => Promise<Result>) => Promise<Result>;
}

/** An endpoint whose JSON body is read for it. `call` hides the types of params, query and body. */
export interface JsonEndpoint<P> extends Contract {
  kind: 'json';
  call(raw: RawCall<P>): Promise<Result>;
}

/**
 * An endpoint that reads its own body and writes its own response (OTLP, signed webhooks, streams).
 */
export interface RawEndpoint<P> extends Contract {
  kind: 'raw';
  call(req: Request, res: Response, raw: CommonCall<P>): Promise<void>;
  /**
   * Writes an error response of its own shape. The status and headers such as Retry-After are
   * already set.
   */
  renderError?(problem: Problem, req: Request, res: Response): void;
}

export type Endpoint<P = unknown> = JsonEndpoint<P> | RawEndpoint<P>;

type NoFields = z.ZodObject<Record<never, never>, z.core.$strict>;
const noFields: NoFields = z.strictObject({});

type PrincipalFor<A extends Access, P> = A extends { open: true } ? undefined : P;

interface Parsed<A extends Access, P, Params extends z.ZodObject, Query extends z.ZodObject> {
  params: z.output<Params>;
  query: z.output<Query>;
  headers: IncomingHttpHeaders;
  principal: PrincipalFor<A, P>;
  requestId: string;
  signal: AbortSignal;
  setHeaders: (headers: Headers) => void;
  receive: (bytesMax: number) => Promise<Buffer>;
  reauthorize: () => Promise<void>;
  recheck: () => Promise<void>;
  /** The entity tags in `If-Match`, for `requireMatch`. */
  ifMatch: IfMatch | undefined;
}
interface ParsedWithBody<
  A extends Access,
  P,
  Params extends z.ZodObject,
  Query extends z.ZodObject,
  Body extends z.ZodType,
> extends Parsed<A, P, Params, Query> {
  body: z.output<Body>;
  /**
   * Identifies the effect of this request. It stays the same when the request runs again under its
   * `Idempotency-Key` because its outcome was unknown; any other request gets a new one. A handler
   * that derives ids only from it never creates a thing twice.
   */
  effectId: string;
}

interface Shapes<Params extends z.ZodObject, Query extends z.ZodObject, R extends Responses> {
  params?: Params;
  query?: Query;
  responses: R;
}

/**
 * Creates `endpoint` and `rawEndpoint` for one type of principal. Handlers of `{ open: true }`
 * contracts get no principal; all others get the `P` that `authorize` of `createApp` returned.
 */
export function endpointsFor<P>() {
  function endpoint<
    const A extends Access,
    const R extends Responses,
    Params extends z.ZodObject = NoFields,
    Query extends z.ZodObject = NoFields,
    Body extends z.ZodType = z.ZodUndefined,
  >(
    spec: Contract<A> &
      Shapes<Params, Query, R> & {
        body?: Body;
        handle: (request: ParsedWithBody<A, P, Params, Query, Body>) => Promise<ResultOf<R>>;
      },
  ): JsonEndpoint<P> {
    const { handle, ...contract } = spec;
    return {
      ...contract,
      kind: 'json',
      async call(raw) {
        const parsed = parseCommon<A, P, Params, Query>(spec, raw);
        const sent = spec.body ? await raw.readBody() : undefined;
        const body = parseBody((spec.body ?? z.undefined()) as Body, sent);
        return raw.once(sent, (effectId) => handle(Object.assign(parsed, { body, effectId })));
      },
    };
  }

  function rawEndpoint<
    const A extends Access,
    const R extends Responses,
    Params extends z.ZodObject = NoFields,
    Query extends z.ZodObject = NoFields,
  >(
    spec: Contract<A> &
      Shapes<Params, Query, R> & {
        handle: (req: Request, res: Response, context: Parsed<A, P, Params, Query>) => Promise<void>;
        renderError?: (problem: Problem, req: Request, res: Response) => void;
      },
  ): RawEndpoint<P> {
    const { handle, ...contract } = spec;
    return {
      ...contract,
      kind: 'raw',
      call: async (req, res, raw) => handle(req, res, parseCommon<A, P, Params, Query>(spec, raw)),
    };
  }

  return { endpoint, rawEndpoint };
}

/** For endpoints that do not use the principal. */
export const { endpoint, rawEndpoint } = endpointsFor<unknown>();

function parseCommon<A extends Access, P, Params extends z.ZodObject, Query extends z.ZodObject>(
  spec: Pick<Contract, 'method' | 'conditional'> & { params?: Params; query?: Query },
  raw: CommonCall<P>,
): Parsed<A, P, Params, Query> {
  const params = parseParams((spec.params ?? noFields) as Params, raw.params);
  const query = parseQuery((spec.query ?? noFields) as Query, raw.query);
  const parsed = new ParsedCall<PrincipalFor<A, P>, typeof params, typeof query>(raw, params, query);
  if (changesUntagged(spec) && parsed.ifMatch !== '*') requireMatch(parsed.ifMatch, undefined);
  return parsed;
}

/**
 * A class because of its getters: with a getter in an object literal, V8 keeps a map for every
 * single call, and with it the request.
 */
class ParsedCall<Principal, Params, Query> {
  readonly params: Params;
  readonly query: Query;
  readonly headers: IncomingHttpHeaders;
  readonly requestId: string;
  readonly setHeaders: (headers: Headers) => void;
  readonly receive: (bytesMax: number) => Promise<Buffer>;
  readonly reauthorize: () => Promise<void>;
  readonly recheck: () => Promise<void>;
  readonly ifMatch: IfMatch | undefined;
  readonly #raw: CommonCall<unknown>;

  constructor(raw: CommonCall<unknown>, params: Params, query: Query) {
    this.params = params;
    this.query = query;
    this.headers = raw.headers;
    this.requestId = raw.requestId;
    this.setHeaders = raw.setHeaders;
    this.receive = raw.receive;
    this.reauthorize = raw.reauthorize;
    this.recheck = raw.recheck;
    this.ifMatch = parseIfMatch(raw.headers['if-match']);
    this.#raw = raw;
  }

  get signal(): AbortSignal {
    return this.#raw.signal;
  }

  /** Safe: the pipeline refuses a call without a principal unless the access is open. A recheck can replace it. */
  get principal(): Principal {
    return this.#raw.principal as Principal;
  }
}
