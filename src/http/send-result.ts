import type { Request, Response } from 'express';
import type { Headers, Result } from './endpoint.ts';
import { formatEtag, noneMatchHolds } from './etag.ts';
import { setHeaders } from './request-context.ts';
import type { HeldAnswer } from './request-lanes.ts';

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
  const headers = etag === undefined ? (result.headers ?? {}) : { ETag: formatEtag(etag), ...result.headers };
  if ('content' in result) return { status, headers, contentType: result.contentType, content: result.content };
  if (result.body === undefined) return { status, headers };
  return { status, headers, contentType: 'application/json', content: JSON.stringify(result.body) };
}

/** A response that can be sent. Large content is bytes. */
export interface PreparedAnswer extends Pick<WireAnswer, 'status' | 'headers'> {
  contentType: string | undefined;
  content: WireAnswer['content'] | undefined;
  isLarge: boolean;
  etag: Result['etag'] | undefined;
  immutable: Result['immutable'] | undefined;
}

/**
 * Prepares a handler's result for {@link sendAnswer}. The values of the result, which may take many times the
 * bytes of its content, need not stay in memory while a client receives them.
 */
export function prepareAnswer(result: Result): PreparedAnswer {
  const { status, headers, contentType, content } = toWireAnswer(result);
  const { etag, immutable } = result;
  const isLarge = content !== undefined && isLonger(content, sliceBytes);
  const sent = isLarge && typeof content === 'string' ? Buffer.from(content) : content;
  // Spread syntax took 10 us here, for each request.
  return { status, headers, contentType, content: sent, etag, immutable, isLarge };
}

/** Tells whether the content has more bytes. A character of JavaScript has one to three in UTF-8. */
function isLonger(content: string | Uint8Array, bytes: number): boolean {
  return content.length > bytes || (content.length > bytes / 3 && Buffer.byteLength(content) > bytes);
}

/** Counts the answers that the process holds until their clients have received them. */
export interface AnswerRoom {
  /** Waits until the process may hold a large answer of so many bytes. */
  hold: (bytes: number) => Promise<HeldAnswer>;
  /** Counts another answer until the returned function is called. */
  note: (bytes: number) => () => void;
}

/**
 * Sends the response; 304 without content when the client already has it (RFC 9110, 15.4.5). Node
 * omits the content for HEAD.
 * @throws what `room.hold` throws, before anything is sent
 */
export async function sendAnswer(req: Request, res: Response, answer: PreparedAnswer, room: AnswerRoom): Promise<void> {
  const { status, headers, contentType, content } = answer;
  const isRead = (req.method === 'GET' || req.method === 'HEAD') && status === 200;
  if (isRead) setCaching(res, answer);
  setHeaders(res, headers);
  if (isRead && answer.etag !== undefined && noneMatchHolds(req.headers['if-none-match'], answer.etag)) {
    res.status(304).end();
    return;
  }
  res.status(status);
  if (content === undefined || contentType === undefined) {
    res.end();
    return;
  }
  const isSlow = answer.isLarge && typeof content !== 'string' && req.method !== 'HEAD';
  const held = isSlow ? await room.hold(content.length) : undefined;
  res.setHeader('Content-Type', contentType);
  res.setHeader('Content-Length', Buffer.byteLength(content));
  if (held !== undefined && typeof content !== 'string') await sendSlices(res, content, held);
  else {
    res.end(content);
    watchUnread(res, content.length, room.note);
  }
}

/** Counts and limits an answer of so many bytes that has just been sent, if its client has not read it at once. */
export function watchUnread(res: Response, bytes: number, note: AnswerRoom['note']): void {
  if (bytes > unwatchedBytesMax && res.writableLength > 0) limitSending(res, note(bytes));
}

/** A smaller answer needs little memory until its client has read it. */
const unwatchedBytesMax = 16 * 1024;
const unreadMsMax = 30_000;

/**
 * Disconnects a client that has not read a whole answer in time. The silence of the connection does not limit this,
 * because it begins anew with each byte. Calls `onClose` when the answer takes no memory any more.
 */
function limitSending(res: Response, onClose: () => void): void {
  const timer = setTimeout(() => res.destroy(), unreadMsMax).unref();
  res.once('close', () => {
    clearTimeout(timer);
    onClose();
  });
}

const sliceBytes = 256 * 1024;
/**
 * A client is disconnected when it reads nothing of a large response for `stalledMs`, or has not
 * read all of it after `sendingMs`. While others wait to send theirs, it has `hurriedMs`, and a second more for
 * each MiB.
 */
const stalledMs = 10_000;
const sendingMs = 120_000;
const hurriedMs = 5_000;
const hurriedBytesPerMs = 1024;

/**
 * Sends content at the speed of the client, so that a slow client does not hold resources for long.
 */
async function sendSlices(res: Response, content: Uint8Array, { isWaitedFor, rest }: HeldAnswer): Promise<void> {
  const startedAtMs = performance.now();
  const isOver = () => {
    const tookMs = performance.now() - startedAtMs;
    return tookMs > sendingMs || (tookMs > hurriedMs + content.length / hurriedBytesPerMs && isWaitedFor());
  };
  for (let start = 0; start < content.length; start += sliceBytes) {
    if (rest !== undefined) await rest();
    // The client may have left meanwhile.
    if (res.destroyed) return;
    if (res.write(content.subarray(start, start + sliceBytes))) continue;
    if (isOver() || !(await drained(res))) {
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
function setCaching(res: Response, { etag, immutable }: PreparedAnswer): void {
  if (etag === undefined && immutable === undefined) return;
  res.setHeader('Cache-Control', immutable ? `private, max-age=${yearS}, immutable` : 'private, no-cache');
  res.setHeader('Vary', credentialHeaders);
}
