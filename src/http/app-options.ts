import type { Request, Response } from 'express';
import type { LatencyRecorder } from '../telemetry/latency.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { BodyIntake } from './body-intake.ts';
import type { Endpoint, Headers } from './endpoint.ts';
import type { IdempotencyStore } from './idempotent-request.ts';
import type { WhyStuck } from './request-lanes.ts';
import type { PathParams } from './validate.ts';

/** How the credential of a request is found and judged. */
export interface CredentialOptions {
  /** Reads the credential in the `credentialField` of the contract. */
  inBody?: (() => Promise<string | undefined>) | undefined;
  /** A token must not have expired at this time. Default: now. */
  atMs?: number | undefined;
}

export interface BytesMeter {
  /** @throws ExhaustedError when a quota is used up */
  chargeBody(bytes: number): Promise<void>;
  noteAnswer(bytes: number): Promise<void>;
}

export interface AppOptions<P> {
  endpoints: readonly Endpoint<P>[];
  /**
   * Authenticates and authorizes the caller. Runs before the body is read, for every endpoint that
   * is not open, and again for requests that last.
   * @throws AppError when the caller may not call the endpoint
   */
  authorize: (req: Request, endpoint: Endpoint<P>, params: PathParams, credential: CredentialOptions) => Promise<P>;
  /**
   * Applies rate limits and quotas. Runs after `authorize` and before the body is read, for every
   * endpoint. May set headers.
   */
  admit?: (req: Request, res: Response, endpoint: Endpoint<P>, principal: P | undefined) => Promise<void>;
  /**
   * Counts the bytes of JSON requests: of the body before its handler runs, and of the answer when it has succeeded; not
   * of an answer that is only replayed. A raw endpoint counts its own.
   */
  meter?: (endpoint: Endpoint<P>, principal: P | undefined) => BytesMeter | undefined;
  /**
   * Returns the name under which a request shares this process: a workspace or another name. Called
   * after `authorize`. Without it, all requests share one name.
   */
  sharerOf?: (req: Request, principal: P | undefined) => string;
  /**
   * Returns why a lane cannot make progress. Called before reads of executions begin, and when any
   * lane refuses work.
   */
  whyStuck?: WhyStuck;
  /** Limits the memory of request bodies. Default: a new instance. */
  intake?: BodyIntake;
  /**
   * Stores responses for `Idempotency-Key`. `tenantOf` returns the project or workspace, and the user, that
   * a key belongs to.
   */
  idempotency?: { store: IdempotencyStore; tenantOf: (principal: P, params: PathParams) => string };
  /**
   * Returns headers that are set first on every response, including errors and unknown routes.
   * Later stages may overwrite them.
   */
  headers?: () => Headers;
  logger: Logger;
  metrics: Metrics;
  latency: LatencyRecorder;
}
