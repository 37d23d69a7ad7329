import type { IncomingHttpHeaders } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { ContentResult } from './contract.ts';
import { contentEtag } from './etag.ts';

/** A header has thousands of empty elements only to cost time. */
const elementsMax = 64;

/** Content that is the same for every caller, as it is and compressed. */
export interface FixedContent {
  contentType: string;
  etag: string;
  plain: Uint8Array;
  gzip: Uint8Array;
}

const compress = promisify(gzip);

/**
 * Prepares content once, so that no response has to encode or compress it. Compresses in a thread of
 * Node's pool.
 */
export async function fixedContent(content: string | Uint8Array, contentType: string): Promise<FixedContent> {
  const plain = typeof content === 'string' ? Buffer.from(content) : content;
  return { contentType, etag: contentEtag(plain), plain, gzip: await compress(plain, { level: 9 }) };
}

/**
 * Returns the response with fixed content, compressed for clients that take it. The two forms differ
 * in their bytes, so each has a strong entity tag of its own.
 */
export function answerFixed(
  { contentType, etag, plain, gzip: compressed }: FixedContent,
  request: IncomingHttpHeaders,
  headers: Readonly<Record<string, string>> = {},
): ContentResult & { status: 200 } {
  const common = { status: 200, contentType } as const;
  const varying = { ...headers, Vary: 'Accept-Encoding' };
  if (!takesGzip(request['accept-encoding'])) return { ...common, content: plain, etag, headers: varying };
  return { ...common, content: compressed, etag: `${etag}-gzip`, headers: { ...varying, 'Content-Encoding': 'gzip' } };
}

/**
 * Returns whether `Accept-Encoding` names gzip and does not refuse it (RFC 9110, 12.5.3). A client
 * that takes anything, but does not name it, gets the plain form.
 */
export function takesGzip(header: string | string[] | undefined): boolean {
  const codings = String(header ?? '')
    .split(',', elementsMax)
    .map((coding) =>
      coding
        .toLowerCase()
        .split(';', 2)
        .map((part) => part.trim()),
    );
  return codings.some(([name, weight]) => name === 'gzip' && !/^q=0(?:\.0*)?$/.test(weight ?? ''));
}
