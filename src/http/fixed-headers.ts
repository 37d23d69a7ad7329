import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import helmet from 'helmet';
import type { Headers } from './contract.ts';

/**
 * Headers of every response: helmet's headers, computed once because they never change, and no
 * caching.
 */
export const fixedHeaders: Headers = { ...helmetHeaders(), 'Cache-Control': 'no-store' };

/** Collects helmet's headers from a response that is never sent. */
function helmetHeaders(): Headers {
  const req = new IncomingMessage(new Socket());
  const res = new ServerResponse(req);
  const headers: Record<string, string> = {};
  res.setHeader = (name, value) => {
    headers[name] = String(value);
    return res;
  };
  helmet()(req, res, (error) => {
    if (error !== undefined) throw error;
  });
  return headers;
}
