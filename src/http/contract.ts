import type { z } from 'zod';
import type { ProblemCode } from '../lib/problem-codes.ts';

/**
 * The lane in which the handlers of a contract run; `none` for handlers that bound their work
 * themselves.
 */
export type LaneName = 'records' | 'renders' | 'analysis' | 'lists' | 'none';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type RateClass = 'ingest' | 'read' | 'write' | 'render' | 'analytics' | 'webhook' | 'none';

/**
 * Who may call an endpoint. The HTTP layer knows only `open`. The injected `authorize` gives the
 * others their meaning: `scope`: a key with the scope, or a user whose role includes it; `role`: a
 * user with at least this role; `authenticated`: any key or user; `admin`: the admin key.
 */
export type Access =
  | { readonly open: true }
  | { readonly scope: string }
  | { readonly role: 'viewer' | 'member' | 'admin' | 'owner' }
  | { readonly authenticated: true }
  | { readonly admin: true };

export interface ResponseSpec {
  description: string;
  schema?: z.ZodType;
  /** Default `application/json` when there is a schema. */
  contentType?: string;
  /** For the OpenAPI document, when the schema gives no example. */
  example?: unknown;
}
/** A body of one media type, for the OpenAPI document. */
export interface MediaType {
  schema?: z.ZodType;
  /** Needed when the schema gives no example. */
  example?: unknown;
}
/**
 * Statuses that an endpoint may return itself; statuses of errors come from `problem.ts`. A union,
 * so that results keep their literal type.
 */
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

/** The fields of every contract, for JSON and raw endpoints. */
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
  /** False if no monthly quota counts the body: it is not kept, or its handler counts it. */
  metered?: false;
  /** The lane in which its handler runs. Default: by `rateClass`, see `RequestLanes`. */
  lane?: LaneName;
  params?: z.ZodObject;
  query?: z.ZodObject;
  body?: z.ZodType;
  /** Maximum size of the body, both compressed and inflated. Default 1 MiB. */
  bodyBytesMax?: number;
  responses: Responses;
  /**
   * A text field of the JSON body that may hold the credential of a request without one in its
   * headers. `authorize` reads the body for it, and only then.
   */
  credentialField?: string;
  /**
   * Whether browsers of any origin may call the path: every response carries the CORS headers, and
   * the JSON body may be `text/plain`. Any other path has no CORS headers.
   */
  cors?: true;
  /**
   * Whether `Idempotency-Key` is supported. Default: a POST that returns 201 or 202, unless it is
   * open or reads its own body.
   */
  idempotent?: boolean;
  /**
   * Top-level response fields that are shown only once. They are not stored, and a replayed
   * response omits them.
   */
  shownOnce?: readonly string[];
  /**
   * Whether the response carries an `ETag` (GET) or the handler compares `If-Match` (others); also for
   * the OpenAPI document. A PUT, PATCH or DELETE without it refuses entity tags in `If-Match`. With `writes` the tag of a GET is that of what can be written, and not of the
   * whole response, so it is for `If-Match` alone.
   */
  conditional?: boolean | 'writes';
  /**
   * The longest wait, in seconds, that the endpoint grants to `Prefer: wait=N`; for the OpenAPI
   * document.
   */
  preferredWaitSMax?: number;
  /**
   * For the OpenAPI document, by media type: bodies that a raw endpoint reads, and its error bodies
   * when they are not problem details.
   */
  reads?: Readonly<Record<string, MediaType>>;
  errors?: Readonly<Record<string, MediaType>>;
  /**
   * Error codes of this endpoint beside those that every endpoint may return; for the OpenAPI
   * document.
   */
  problems?: readonly ProblemCode[];
}

export type Headers = Readonly<Record<string, string>>;

/** Fields that any result may have beside its content. */
export interface ResultMeta {
  headers?: Headers;
  /**
   * Strong entity tag without its quotes, from a version or `contentEtag`. `sendAnswer` evaluates
   * `If-None-Match` with it.
   */
  etag?: string;
  /** Whether the content at this URL never changes. */
  immutable?: true;
}
/** A response that is text or bytes instead of JSON. */
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

/**
 * The results a handler may return: the statuses of the contract, each with a body of its schema.
 */
export type ResultOf<R extends Responses> = {
  [S in keyof R & Status]:
    | ContentResult
    | (R[S] extends { schema: infer Z extends z.ZodType }
        ? { status: S; body: z.output<Z> } & ResultMeta
        : { status: S; body?: undefined } & ResultMeta);
}[keyof R & Status];
