import { type IncomingMessage, type RequestListener, ServerResponse } from 'node:http';
import { JoinedRequest } from './small-chunks.ts';

/**
 * Returns message classes that have the prototypes of the application from the start. Express would
 * replace both prototypes on every request (express/lib/application.js, handle), so V8's inline
 * caches would miss: 90 us instead of 20.
 */
export function messageClassesFor(app: RequestListener) {
  // A plain request listener has no such prototypes.
  if (!('request' in app && 'response' in app)) return {};
  class AppRequest extends JoinedRequest {}
  // The prototypes of the application replace that of JoinedRequest.
  AppRequest.prototype.push = JoinedRequest.prototype.push;
  class AppResponse extends ServerResponse {}
  Object.setPrototypeOf(AppRequest.prototype, Object(app.request));
  Object.setPrototypeOf(AppResponse.prototype, Object(app.response));
  Object.assign(app, { request: AppRequest.prototype, response: AppResponse.prototype });
  return { IncomingMessage: AppRequest as typeof IncomingMessage, ServerResponse: AppResponse };
}
