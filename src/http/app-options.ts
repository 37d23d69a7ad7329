import type { Request, Response } from 'express';
import type { LatencyRecorder } from '../telemetry/latency.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { BodyIntake } from './body-intake.ts';
import type { Endpoint, Headers } from './endpoint.ts';
import type { IdempotencyStore } from './idempotency.ts';
import type { WhyStuck } from './request-lanes.ts';
import type { PathParams } from './validate.ts';

export interface AppOptions<P> {
  endpoints: readonly Endpoint<P>[];
  /** Who calls, and may they: runs before the body is read, for every endpoint that is not open. Throws AppErrors. */
  authorise: (req: Request, endpoint: Endpoint<P>, params: PathParams) => Promise<P>;
  /** Rate limits and quotas: runs after `authorise` and before the body is read, for every endpoint. May set headers. */
  admit?: (req: Request, res: Response, endpoint: Endpoint<P>, principal: P | undefined) => Promise<void>;
  /** Whose share of this process a request uses, a workspace or another name; asked after `authorise`. One for all unless given. */
  sharerOf?: (req: Request, principal: P | undefined) => string;
  /** Asked before reads of executions begin, and when work of any lane is refused. */
  whyStuck?: WhyStuck;
  /** Bounds the memory that bodies take; a new one unless given. */
  intake?: BodyIntake;
  /** Keeps answers for `Idempotency-Key`; `tenantOf` is the project or workspace a key belongs to. */
  idempotency?: { store: IdempotencyStore; tenantOf: (principal: P, params: PathParams) => string };
  /** What a handler threw as an AppError, where it is known to be one in other words, such as an engine that is away. */
  recogniseError?: (error: unknown) => unknown;
  /** Set on every answer first, errors and unknown routes included; later stages may overwrite them. */
  headers?: () => Headers;
  logger: Logger;
  metrics: Metrics;
  latency: LatencyRecorder;
}
