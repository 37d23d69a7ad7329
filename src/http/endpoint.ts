import type { IncomingHttpHeaders } from 'node:http';
import type { Request, Response } from 'express';
import { z } from 'zod';
import type { ProblemCode } from '../lib/problem-codes.ts';
import { type IfMatch, parseIfMatch } from './etag.ts';
import type { Problem } from './problem.ts';
import { type PathParams, parseBody, parseParams, parseQuery, type QueryValues } from './validate.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type RateClass = 'ingest' | 'read' | 'write' | 'render' | 'analytics' | 'none';

/**
 * Who may call an endpoint. The kit only knows `open`; what the others mean is up to the injected `authorise`:
 * a key with the scope or a user whose role suffices for it; a user with at least the role; any key or user; the operator.
 */
export type Access =
  | { readonly open: true }
  | { readonly scope: string }
  | { readonly role: 'viewer' | 'member' | 'admin' | 'owner' }
  | { readonly authenticated: true }
  | { readonly operator: true };

export interface ResponseSpec {
  description: string;
  schema?: z.ZodType;
  /** Default `application/json` when there is a schema. */
  contentType?: string;
  /** For the document, where a schema cannot give one. */
  example?: unknown;
}
/** A body of one media type, for the document. */
export interface MediaType {
  schema?: z.ZodType;
  /** Where the schema cannot give one. */
  example?: unknown;
}
/** Statuses an endpoint may answer by itself; those of errors come from `problem.ts`. A union, so that results keep their literal. */
export type Status =
  | 200
  | 201
  | 202
  | 204
  | 207
  | 301
  | 302
  | 304
  | 400
  | 401
  | 403
  | 404
  | 409
  | 413
  | 415
  | 429
  | 500
  | 503;
export type Responses = Partial<Record<Status, ResponseSpec>>;

/** What every contract says, whoever reads the body. */
export interface Contract<A extends Access = Access> {
  operationId: string;
  method: Method;
  /** OpenAPI form: `/api/projects/{project_id}/prompts`. */
  path: `/${string}`;
  summary: string;
  description?: string;
  tag: string;
  access: A;
  rateClass: RateClass;
  params?: z.ZodObject;
  query?: z.ZodObject;
  body?: z.ZodType;
  /** Bound on the body, compressed and inflated alike. Default 1 MiB. */
  bodyBytesMax?: number;
  responses: Responses;
  /** Whether `Idempotency-Key` is heard. Default: a POST that answers 201 or 202, unless it is open or reads its own body. */
  idempotent?: boolean;
  /** Top-level fields of the answer that are shown once: they are not stored, and a replay comes without them. */
  shownOnce?: readonly string[];
  /** Whether the answer carries an `ETag` (GET) or `If-Match` is heard (others); for the document. */
  conditional?: boolean;
  /** Bodies a raw endpoint reads, and its errors where they are no problems, by media type; for the document. */
  reads?: Readonly<Record<string, MediaType>>;
  errors?: Readonly<Record<string, MediaType>>;
  /** Codes of the errors this endpoint adds to those every endpoint may answer, for the document. */
  problems?: readonly ProblemCode[];
}

export type Headers = Readonly<Record<string, string>>;

/** What any answer may carry beside its content. */
export interface ResultMeta {
  headers?: Headers;
  /** Strong entity tag without its quotes, from a version or `contentEtag`; the kit answers `If-None-Match`. */
  etag?: string;
  /** What is at this address never changes. */
  immutable?: true;
}
/** An answer that is text or bytes rather than JSON. */
export interface ContentResult extends ResultMeta {
  status: Status;
  content: string | Uint8Array;
  contentType: string;
}
export interface JsonResult extends ResultMeta {
  status: number;
  body?: unknown;
}
export type Result = JsonResult | ContentResult;

/** The results a handler may give: the statuses of the contract, each with a body of its schema. */
export type ResultOf<R extends Responses> = {
  [S in keyof R & Status]:
    | ContentResult
    | (R[S] extends { schema: infer Z extends z.ZodType }
        ? { status: S; body: z.output<Z> } & ResultMeta
        : { status: S; body?: undefined } & ResultMeta);
}[keyof R & Status];

/** What the pipeline hands over before validation; see `app.ts` for the order. */
export interface CommonCall<P> {
  params: PathParams;
  query: QueryValues;
  headers: IncomingHttpHeaders;
  principal: P | undefined;
  requestId: string;
  /** Aborted once the answer is out or the client has gone: nobody needs what is still under way. */
  signal: AbortSignal;
}
export interface RawCall<P> extends CommonCall<P> {
  /** Reads and parses the JSON body; only called when the contract has a body. `undefined` for an empty body. */
  readBody: () => Promise<unknown>;
  /** Runs the handler, or gives the answer it gave before to the same request; `body` is the parsed JSON. */
  once: (body: unknown, run: () => Promise<Result>) => Promise<Result>;
}

/** An endpoint whose body the kit reads: types of params, query and body are erased into `call`. */
export interface JsonEndpoint<P> extends Contract {
  kind: 'json';
  call(raw: RawCall<P>): Promise<Result>;
}

/** An endpoint that reads its own body and writes its own answer (OTLP, signed webhooks, streams). */
export interface RawEndpoint<P> extends Contract {
  kind: 'raw';
  call(req: Request, res: Response, raw: CommonCall<P>): Promise<void>;
  /** Writes an error answer of its own shape; status and protocol headers such as Retry-After are set already. */
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
  /** What `If-Match` names, for `requireMatch`. */
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
}

interface Shapes<Params extends z.ZodObject, Query extends z.ZodObject, R extends Responses> {
  params?: Params;
  query?: Query;
  responses: R;
}

/**
 * Makes `endpoint` and `rawEndpoint` for one type of principal. Handlers of `{ open: true }` contracts get no
 * principal; all others get `P`, as `createApp`'s `authorise` returned it.
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
        return raw.once(sent, () => handle({ ...parsed, body }));
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

/** For endpoints that do not look at the principal. */
export const { endpoint, rawEndpoint } = endpointsFor<unknown>();

function parseCommon<A extends Access, P, Params extends z.ZodObject, Query extends z.ZodObject>(
  spec: { params?: Params; query?: Query },
  raw: CommonCall<P>,
): Parsed<A, P, Params, Query> {
  return {
    params: parseParams((spec.params ?? noFields) as Params, raw.params),
    query: parseQuery((spec.query ?? noFields) as Query, raw.query),
    headers: raw.headers,
    // Sound by construction: the pipeline refuses a call without a principal unless the access is open.
    principal: raw.principal as PrincipalFor<A, P>,
    requestId: raw.requestId,
    signal: raw.signal,
    ifMatch: parseIfMatch(raw.headers['if-match']),
  };
}
