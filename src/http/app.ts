import express, { type Express, type Request } from 'express';
import { NotFoundError } from '../lib/errors.ts';
import type { AppOptions } from './app-options.ts';
import { BodyIntake } from './body-intake.ts';
import { checkEndpoints } from './check-endpoints.ts';
import { errorHandler } from './error-handler.ts';
import { startRequest } from './request-context.ts';
import { RequestLanes } from './request-lanes.ts';
import { mountRoutes } from './routes.ts';

/**
 * Creates the Express application for a list of contracts. Order per request: request id, security
 * headers, route, `authorize`, `admit`, path and query validation, body, body validation, lane,
 * idempotency, handler. A raw endpoint gets its place in a lane after `admit`, and its handler reads
 * the body. Errors become problem responses.
 * @throws Error at start-up that lists every fault of the contracts, such as an endpoint without
 * access
 */
export function createApp<P>(options: AppOptions<P>): Express {
  checkEndpoints(options.endpoints);
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', false);
  app.enable('case sensitive routing');
  app.use(startRequest(options));
  mountRoutes(app, {
    ...options,
    intake: options.intake ?? new BodyIntake(),
    lanes: new RequestLanes(options.whyStuck),
  });
  app.use((req: Request) => {
    throw new NotFoundError('route_not_found', `The route ${req.path.slice(0, 200)} does not exist`);
  });
  app.use(errorHandler(options));
  return app;
}
