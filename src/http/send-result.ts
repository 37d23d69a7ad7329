import type { Request, Response } from 'express';
import type { Headers, Result } from './endpoint.ts';
import { formatEtag, noneMatchHolds } from './etag.ts';
import { setHeaders } from './request-context.ts';

/**
 * The response as sent; `content` and `contentType` are absent together. Text stays a string,
 * because Node writes a string together with the headers.
 */
export interface WireAnswer {
  status: number;
  headers: Headers;
  contentType?: string;
  content?: string | Uint8Array;
}

/** Converts a handler's result to content and headers. */
export function toWireAnswer(result: Result): WireAnswer {
  const { status, etag } = result;
  const headers = { ...(etag === undefined ? {} : { ETag: formatEtag(etag) }), ...result.headers };
  if ('content' in result) return { status, headers, contentType: result.contentType, content: result.content };
  if (result.body === undefined) return { status, headers };
  return { status, headers, contentType: 'application/json', content: JSON.stringify(result.body) };
}

/** Waits until the process may hold an answer of so many bytes. */
export type HoldAnswer = (bytes: number) => Promise<void>;

/**
 * Sends the response; 304 without content when the client already has it (RFC 9110, 15.4.5). Node
 * omits the content for HEAD.
 * @throws what `hold` throws, before anything is sent
 */
export async function sendResult(req: Request, res: Response, result: Result, hold: HoldAnswer): Promise<void> {
  const { status, headers, contentType, content } = toWireAnswer(result);
  const isRead = (req.method === 'GET' || req.method === 'HEAD') && status === 200;
  if (isRead) setCaching(res, result);
  setHeaders(res, headers);
  if (isRead && result.etag !== undefined && noneMatchHolds(req.headers['if-none-match'], result.etag)) {
    res.status(304).end();
    return;
  }
  res.status(status);
  if (content === undefined || contentType === undefined) {
    res.end();
    return;
  }
  const isLarge = content.length > sliceBytes && req.method !== 'HEAD';
  const sent = isLarge && typeof content === 'string' ? Buffer.from(content) : content;
  if (isLarge) await hold(sent.length);
  res.setHeader('Content-Type', contentType);
  res.setHeader('Content-Length', Buffer.byteLength(sent));
  if (isLarge && typeof sent !== 'string') await sendSlices(res, sent);
  else res.end(sent);
}

const sliceBytes = 256 * 1024;
/**
 * A client is disconnected when it reads nothing of a large response for `stalledMs`, or has not
 * read all of it after `sendingMs`.
 */
const stalledMs = 10_000;
const sendingMs = 120_000;

/**
 * Sends content at the speed of the client, so that a slow client does not hold resources for long.
 */
async function sendSlices(res: Response, content: Uint8Array): Promise<void> {
  const endsAtMs = performance.now() + sendingMs;
  for (let start = 0; start < content.length && !res.destroyed; start += sliceBytes) {
    if (res.write(content.subarray(start, start + sliceBytes))) continue;
    if (performance.now() > endsAtMs || !(await drained(res))) {
      res.destroy();
      return;
    }
  }
  res.end();
}

/** Resolves to whether the client took the written bytes in time. */
function drained(res: Response): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (taken: boolean) => () => {
      clearTimeout(timer);
      res.off('drain', onDrain).off('close', onClose);
      resolve(taken);
    };
    const [onDrain, onClose] = [end(true), end(false)];
    const timer = setTimeout(onClose, stalledMs);
    res.once('drain', onDrain).once('close', onClose);
  });
}

const credentialHeaders = 'Authorization, X-API-Key, X-Admin-Key';
const yearS = 31_536_000;

/**
 * Sets the caching headers. Content that may change is revalidated every time, content that never
 * changes is not. Only the caller may store either.
 */
function setCaching(res: Response, { etag, immutable }: Result): void {
  if (etag === undefined && immutable === undefined) return;
  res.setHeader('Cache-Control', immutable ? `private, max-age=${yearS}, immutable` : 'private, no-cache');
  res.setHeader('Vary', credentialHeaders);
}
