import type { IncomingHttpHeaders } from 'node:http';
import type { Express, Request, RequestHandler, Response } from 'express';
import { MalformedError, MethodNotAllowedError } from '../lib/errors.ts';
import type { AppOptions } from './app.ts';
import { readJsonBody } from './body.ts';
import type { CommonCall, Endpoint, Headers, RawCall } from './endpoint.ts';
import { answerError } from './error-handler.ts';
import { answerOnce, digestRequest, isIdempotent, readIdempotencyKey } from './idempotency.ts';
import { isStorableText } from './json-walk.ts';
import { parseQueryString, type QueryValues } from './query.ts';
import { contextOf, setHeaders } from './request-context.ts';
import { sendResult } from './send-result.ts';
import type { PathParams } from './validate.ts';

/** Default bound on a body, in bytes. */
const bodyBytesMaxDefault = 1024 * 1024;

/** One Express route per path; the method is picked here, so that HEAD, OPTIONS and 405 come out alike everywhere. */
export function mountRoutes<P>(app: Express, options: AppOptions<P>): void {
  const byPath = new Map<string, Endpoint<P>[]>();
  for (const endpoint of options.endpoints) {
    byPath.set(endpoint.path, [...(byPath.get(endpoint.path) ?? []), endpoint]);
  }
  for (const [path, endpoints] of [...byPath].sort(([a], [b]) => compareSpecificity(a, b))) {
    app.all(path.replaceAll(/\{(\w+)\}/g, ':$1'), dispatch(endpoints, options));
  }
}

/** Express takes the first route that matches, so `/prompts/validate` has to come before `/prompts/{prompt_id}`. */
function compareSpecificity(a: string, b: string): number {
  const [left, right] = [a.split('/'), b.split('/')];
  for (const [index, segment] of left.entries()) {
    const difference = Number(segment.startsWith('{')) - Number((right[index] ?? '').startsWith('{'));
    if (difference !== 0) return difference;
  }
  return 0;
}

function dispatch<P>(endpoints: readonly Endpoint<P>[], options: AppOptions<P>): RequestHandler {
  const byMethod = new Map<string, Endpoint<P>>(endpoints.map((endpoint) => [endpoint.method, endpoint]));
  const get = byMethod.get('GET');
  if (get) byMethod.set('HEAD', get);
  const allow = [...byMethod.keys(), 'OPTIONS'].join(', ');
  return async (req, res) => {
    const endpoint = byMethod.get(req.method);
    if (!endpoint) res.setHeader('Allow', allow);
    if (req.method === 'OPTIONS') {
      res.status(204).end();
      return;
    }
    try {
      if (!endpoint) throw new MethodNotAllowedError('method_not_allowed', `${req.method} is not one of ${allow}`);
      contextOf(res).contract = endpoint;
      await run(req, res, endpoint, options);
    } catch (error) {
      // A path speaks one protocol, so a wrong method is refused in the words of its other methods.
      const speaker = endpoint ?? endpoints[0];
      const renderError = speaker?.kind === 'raw' ? speaker.renderError : undefined;
      answerError({ error, req, res, logger: options.logger, renderError });
    }
  };
}

async function run<P>(req: Request, res: Response, endpoint: Endpoint<P>, options: AppOptions<P>): Promise<void> {
  const params = pathParams(req);
  const principal = 'open' in endpoint.access ? undefined : await options.authorise(req, endpoint, params);
  await options.admit?.(req, res, endpoint, principal);
  const call = new Call(req, res, params, principal);
  if (endpoint.kind === 'raw') {
    await endpoint.call(req, res, call);
    return;
  }
  const once = onceFor(req, endpoint, options, call);
  const readBody = () => readJsonBody(req, endpoint.bodyBytesMax ?? bodyBytesMaxDefault);
  await sendResult(req, res, await endpoint.call(Object.assign(call, { readBody, once })));
}

/** A class for its getter, which an object literal would make anew for every request, and dear: see `ParsedCall`. */
class Call<P> implements CommonCall<P> {
  readonly params: PathParams;
  readonly query: QueryValues;
  readonly headers: IncomingHttpHeaders;
  readonly principal: P | undefined;
  readonly requestId: string;
  readonly setHeaders: (headers: Headers) => void;
  readonly #res: Response;
  #signal: AbortSignal | undefined;

  constructor(req: Request, res: Response, params: PathParams, principal: P | undefined) {
    this.params = params;
    this.query = parseQueryString(req.url.slice(req.path.length));
    this.headers = req.headers;
    this.principal = principal;
    this.requestId = contextOf(res).requestId;
    this.setHeaders = (headers) => setHeaders(res, headers);
    this.#res = res;
  }

  get signal(): AbortSignal {
    this.#signal ??= closeSignal(this.#res);
    return this.#signal;
  }
}

/** Given as the reason, because the default one captures a stack, on every request. */
const closed = new Error('The answer is out or the client has gone');

function closeSignal(res: Response): AbortSignal {
  const controller = new AbortController();
  if (res.closed) controller.abort(closed);
  else res.once('close', () => controller.abort(closed));
  return controller.signal;
}

/** How the handler runs: plainly, or at most once per `Idempotency-Key` where the contract and the caller say so. */
function onceFor<P>(
  req: Request,
  endpoint: Endpoint<P>,
  { idempotency, logger }: AppOptions<P>,
  { params, query, principal, requestId }: CommonCall<P>,
): RawCall<P>['once'] {
  const key = idempotency && isIdempotent(endpoint) ? readIdempotencyKey(req.headers['idempotency-key']) : undefined;
  if (idempotency === undefined || key === undefined || principal === undefined) return (_body, run) => run();
  const { operationId, shownOnce = [] } = endpoint;
  const tenant = idempotency.tenantOf(principal, params);
  return (body, run) =>
    answerOnce(
      {
        store: idempotency.store,
        request: { tenant, operationId, key, digest: digestRequest({ params, query, body }) },
        shownOnce,
        where: { requestId, instance: req.path.slice(0, 2_000) },
        onStoreError: (error) => logger.warn({ err: error, request_id: requestId }, 'idempotent answer not stored'),
      },
      run,
    );
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
