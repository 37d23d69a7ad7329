import { randomUUID } from 'node:crypto';
import type { Express, Request, RequestHandler, Response } from 'express';
import { MalformedError, MethodNotAllowedError } from '../lib/errors.ts';
import { countHeavy, heavyTurn } from '../lib/heavy-turns.ts';
import { sharedThird } from '../lib/pace.ts';
import { isStorableText } from '../lib/storable-text.ts';
import type { AppOptions } from './app-options.ts';
import { hasBody } from './body.ts';
import type { BodyIntake } from './body-intake.ts';
import { convertList } from './convert-list.ts';
import { corsHeaders, preflightHeaders } from './cors.ts';
import { digestRequest } from './digest-request.ts';
import type { CommonCall, Endpoint, RawCall, Result } from './endpoint.ts';
import { answerError } from './error-handler.ts';
import { answerOnce, isIdempotent, readIdempotencyKey } from './idempotency.ts';
import { bodyBytesMaxDefault, RequestBody } from './request-body.ts';
import { Call, closed } from './request-call.ts';
import { contextOf, setHeaders } from './request-context.ts';
import type { RequestLanes } from './request-lanes.ts';
import { prepareAnswer, sendAnswer } from './send-result.ts';
import type { PathParams } from './validate.ts';

/** Name of the sharer when `sharerOf` is not given. */
const everybody = 'everybody';

type RouteOptions<P> = AppOptions<P> & { intake: BodyIntake; lanes: RequestLanes };

/**
 * Mounts one Express route per path. The method is selected here, so that HEAD, OPTIONS and 405
 * behave the same everywhere.
 */
export function mountRoutes<P>(app: Express, options: RouteOptions<P>): void {
  const byPath = new Map<string, Endpoint<P>[]>();
  for (const endpoint of options.endpoints) {
    byPath.set(endpoint.path, [...(byPath.get(endpoint.path) ?? []), endpoint]);
  }
  for (const [path, endpoints] of [...byPath].sort(([a], [b]) => compareSpecificity(a, b))) {
    app.all(path.replaceAll(/\{(\w+)\}/g, ':$1'), dispatch(endpoints, options));
  }
}

/**
 * Sorts literal segments before parameters. Express uses the first matching route, so
 * `/prompts/validate` must come before `/prompts/{prompt_id}`.
 */
function compareSpecificity(a: string, b: string): number {
  const [left, right] = [shapeOf(a), shapeOf(b)];
  return left < right ? -1 : Number(left > right);
}

/** Returns a character for each segment: 0 for a literal, 1 for a parameter. */
function shapeOf(path: string): string {
  return path.replaceAll(/[^/]+/g, (segment) => (segment.startsWith('{') ? '1' : '0'));
}

function dispatch<P>(endpoints: readonly Endpoint<P>[], options: RouteOptions<P>): RequestHandler {
  const byMethod = new Map<string, Endpoint<P>>(endpoints.map((endpoint) => [endpoint.method, endpoint]));
  const get = byMethod.get('GET');
  if (get) byMethod.set('HEAD', get);
  const allow = [...byMethod.keys(), 'OPTIONS'].join(', ');
  const hasCors = endpoints.some(({ cors }) => cors);
  // All methods of a path share one error format, so a wrong method is refused in that format.
  const [speaker] = endpoints;
  const renderError = speaker?.kind === 'raw' ? speaker.renderError : undefined;
  return async (req, res) => {
    if (renderError !== undefined) contextOf(res).renderError = (problem) => renderError(problem, req, res);
    const endpoint = byMethod.get(req.method);
    if (hasCors) setHeaders(res, corsHeaders);
    if (!endpoint) res.setHeader('Allow', allow);
    if (req.method === 'OPTIONS') {
      if (hasCors) setHeaders(res, preflightHeaders(allow));
      res.status(204).end();
      return;
    }
    try {
      if (!endpoint)
        throw new MethodNotAllowedError(
          'method_not_allowed',
          `The method ${req.method} is not allowed. The allowed methods are ${allow}`,
        );
      contextOf(res).contract = endpoint;
      await run(req, res, endpoint, options);
    } catch (error) {
      // A client that left while it waited gets no response, and the abort of its work is not an
      // error.
      if (error === closed || (res.closed && isAbort(error))) return;
      answerError(error, { req, res }, options);
    }
  };
}

async function run<P>(req: Request, res: Response, endpoint: Endpoint<P>, options: RouteOptions<P>): Promise<void> {
  const params = pathParams(req);
  const { bodyBytesMax = bodyBytesMaxDefault, cors = false, credentialField } = endpoint;
  const context = contextOf(res);
  context.sharer = options.sharerOf?.(req, undefined) ?? everybody;
  const body = new RequestBody(req, context.sharer, options);
  const readBody = () => body.readJson(bodyBytesMax, cors);
  const credential = credentialField === undefined ? undefined : () => readBody().then(textAt(credentialField));
  try {
    const authorize = async (atMs?: number) =>
      'open' in endpoint.access ? undefined : options.authorize(req, endpoint, params, { inBody: credential, atMs });
    const beganAtMs = Date.now();
    const principal = await authorize(beganAtMs);
    await options.admit?.(req, res, endpoint, principal);
    const sharer = options.sharerOf?.(req, principal) ?? everybody;
    body.sharer = sharer;
    body.isAnonymous = options.sharerOf !== undefined && principal === undefined;
    context.sharer = sharer;
    const call = new Call({ req, res, params, principal, body, beganAtMs, authorize });
    if (endpoint.kind === 'raw') {
      await options.lanes.run(endpoint, { sharer, waiter: call, bodyBytes: 0 }, async () => {
        await call.recheck();
        await endpoint.call(req, res, call);
      });
      return;
    }
    options.lanes.requireAnswersRead(endpoint, sharer);
    const isUnwanted = endpoint.method !== 'GET' && endpoint.body === undefined && hasBody(req);
    if (isUnwanted) await body.ignore(bodyBytesMax);
    const meter = options.meter?.(endpoint, call.principal);
    let isReplay = true;
    const begin = async () => {
      isReplay = false;
      await meter?.chargeBody(body.bytes);
    };
    const once = onceFor(req, endpoint, options, { call, sharer, body, begin });
    // A client that reads slowly holds neither its body nor the values of the result.
    const prepare = (result: Result) => countHeavy(sharer, () => prepareAnswer(result));
    const answer = await endpoint.call(Object.assign(call, { readBody, once })).then(prepare);
    body.release();
    if (!isReplay) await meter?.noteAnswer(answer.content?.length ?? 0);
    options.lanes.countAnswer(endpoint, sharer, answer.content?.length ?? 0);
    await sendAnswer(req, res, answer, {
      hold: (bytes) => options.lanes.holdAnswer(endpoint, { sharer, waiter: call, bytes }),
      note: (bytes) => options.lanes.noteUnread(sharer, bytes),
    });
  } finally {
    body.release();
  }
}

/** Returns a function that returns the text in this field of a body, if there is one. */
function textAt(field: string): (body: unknown) => string | undefined {
  return (body) => {
    const value: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, field) : undefined;
    return typeof value === 'string' ? value : undefined;
  };
}

/** Returns whether this is the error that Node's own functions throw for an aborted signal. */
function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}

interface OnceParts<P> {
  call: CommonCall<P>;
  sharer: string;
  body: RequestBody;
  /** Runs before the handler, not before a stored answer. */
  begin: () => Promise<void>;
}

/**
 * Returns how the handler runs: directly, or at most once per `Idempotency-Key` when the contract
 * supports it and the caller sends one.
 */
function onceFor<P>(
  req: Request,
  endpoint: Endpoint<P>,
  { idempotency, lanes, logger }: RouteOptions<P>,
  { call, sharer, body: held, begin }: OnceParts<P>,
): RawCall<P>['once'] {
  const { params, query, principal, requestId } = call;
  const inLane = <T>(handle: () => Promise<T>) =>
    lanes.run(endpoint, { sharer, waiter: call, bodyBytes: held.bytes }, async () => {
      // Answers to other writes were sent while the body arrived and the request waited.
      lanes.requireAnswersRead(endpoint, sharer);
      await call.recheck();
      const result = await handle();
      await heavyTurn(sharer);
      return result;
    });
  const key = idempotency && isIdempotent(endpoint) ? readIdempotencyKey(req.headers['idempotency-key']) : undefined;
  if (idempotency === undefined || key === undefined || principal === undefined)
    return (_body, run) =>
      inLane(async () => {
        await begin();
        return convertList(await run(randomUUID()), sharedThird(sharer));
      });
  const { operationId, shownOnce = [] } = endpoint;
  const tenant = idempotency.tenantOf(principal, params);
  const { store } = idempotency;
  const isUnbound = endpoint.lane === 'none';
  const beginOnce: typeof store.begin = (request) =>
    isUnbound ? lanes.runRecord(sharer, () => store.begin(request)) : store.begin(request);
  return async (body, run) => {
    const digest = await digestRequest({ params, query, body }, { sharer, bytes: held.bytes });
    const deps = {
      store: { ...store, begin: beginOnce },
      request: { tenant, operationId, key, digest },
      shownOnce,
      where: { requestId, instance: req.path.slice(0, 2_000) },
      onStoreError: (error: unknown) =>
        logger.warn({ err: error, request_id: requestId }, 'idempotent response not stored'),
    };
    return inLane(() =>
      answerOnce(deps, async (effectId) => {
        await begin();
        return run(effectId);
      }),
    );
  };
}

function pathParams(req: Request): PathParams {
  const params: Record<string, string> = Object.create(null);
  for (const [name, value] of Object.entries(req.params)) {
    const text = String(value);
    if (!isStorableText(text)) throw new MalformedError('malformed_path', `${name}: NUL characters are not allowed`);
    params[name] = text;
  }
  return params;
}
