import { readdirSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';

/**
 * What one trace of a client holds, worked out independently of us from the same bytes. Lists are the distinct values of *all* its
 * spans in no order of weight, whereas an execution's `models` and `providers` are those of the spans that count, and its
 * `session_id` and `user_id` the root's or else the earliest.
 */
export interface ExpectedTrace {
  /** Each span id once. */
  spans: number;
  /** Names as sent of the spans without a parent. */
  roots: string[];
  /** Names as sent of the spans whose parent is named but never came. */
  orphans: string[];
  /** How many spans there are of each kind. */
  kinds: Record<string, number>;
  /** Spans that failed, whatever says so: status, level or exception. */
  errors: number;
  /** Of the spans that count (see count-usage.ts). */
  tokens: { in: number; out: number };
  models: string[];
  providers: string[];
  session: string[];
  user: string[];
  /** The tags of one span, joined by `|`. */
  tags: string[];
  /** `name@version` as sent; `?` where there is no name. Of the spans' own references, none inherited. */
  prompt: string[];
  /** Spans that know the time to their first token. */
  ttft: number;
  /** Model calls that have both an input and an output. */
  llm_with_io: number;
  /** In USD, the sum of what spans that count report; absent when none reports any. */
  cost?: number;
}

export interface ExpectedClient {
  /** Those that carry traces; what else a client posts is not counted. */
  requests: number;
  /** Over all requests, resent ones included. */
  spans_received: number;
  spans_unique: number;
  traces: ExpectedTrace[];
}

/** One request of a real client, as it was recorded. */
export interface Capture {
  file: string;
  url: string;
  method: string;
  rawHeaders: string[];
  body: Buffer<ArrayBuffer>;
}

export const captureFolder = join(import.meta.dirname, '../fixtures/captures');

export const manifest: Record<string, ExpectedClient> = JSON.parse(
  readFileSync(join(captureFolder, 'manifest.json'), 'utf8'),
);

/** The requests of one client, in the order in which it sent them. */
export function readCaptures(client: string): Capture[] {
  const files = readdirSync(join(captureFolder, client)).filter((file) => file.endsWith('.meta.json'));
  return files.sort().map((file) => {
    const meta = JSON.parse(readFileSync(join(captureFolder, client, file), 'utf8'));
    const body = readFileSync(join(captureFolder, client, meta.bodyFile));
    return {
      file: `${client}/${meta.bodyFile}`,
      url: meta.url,
      method: meta.method,
      rawHeaders: meta.rawHeaders,
      body,
    };
  });
}

export interface RawAnswer {
  status: number | undefined;
  contentType: string | undefined;
  body: Buffer;
}

/** Sends a recorded request again: its own headers in their own spelling, chunked as it was, with another key. */
export function replay(apiUrl: string, key: string, capture: Capture): Promise<RawAnswer> {
  const headers: [string, string][] = [];
  for (let index = 0; index < capture.rawHeaders.length; index += 2) {
    const [name = '', value = ''] = capture.rawHeaders.slice(index, index + 2);
    if (/^(host|connection)$/i.test(name)) continue;
    headers.push([name, /^x-api-key$/i.test(name) ? key : value]);
  }
  return new Promise((resolve, reject) => {
    const options = { method: capture.method, headers: Object.fromEntries(headers) };
    const outgoing = request(`${apiUrl}${capture.url}`, options, async (response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk);
      const contentType = response.headers['content-type'];
      resolve({ status: response.statusCode, contentType, body: Buffer.concat(chunks) });
    });
    outgoing.once('error', reject);
    outgoing.write(capture.body.subarray(0, 100));
    outgoing.end(capture.body.subarray(100));
  });
}
