import type { z } from 'zod';
import type { ProblemCode } from '../lib/problem-codes.ts';

/** Where the handlers of a contract have their places; `none` for those that bound their work themselves. */
export type LaneName = 'records' | 'renders' | 'analysis' | 'none';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type RateClass = 'ingest' | 'read' | 'write' | 'render' | 'analytics' | 'webhook' | 'none';

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
  /** Where its handler has its place among those that use Postgres. Default: by `rateClass`, see `RequestLanes`. */
  lane?: LaneName;
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
  /** The longest wait, in seconds, that the endpoint grants to `Prefer: wait=N`; for the document. */
  preferredWaitSMax?: number;
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
