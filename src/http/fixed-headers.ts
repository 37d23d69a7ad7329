import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import helmet from 'helmet';
import type { Headers } from './contract.ts';

/** What every answer carries whatever it is: helmet's headers, asked for once because they never change, and no caching. */
export const fixedHeaders: Headers = { ...helmetHeaders(), 'Cache-Control': 'no-store' };

/** helmet says them to an answer that is never sent. */
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
