import { readdirSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';

/**
 * The content of one trace of a client, computed from the same bytes independently of the product.
 * Lists contain the distinct values of *all* spans without an order. In contrast, `models` and
 * `providers` of an execution are those of the spans that count, and its
 * `session_id` and `user_id` are those of the root, or else the earliest.
 */
export interface ExpectedTrace {
  /** Each span id once. */
  spans: number;
  /** Names, as sent, of the spans without a parent. */
  roots: string[];
  /** Names, as sent, of the spans whose named parent did not arrive. */
  orphans: string[];
  /** Number of spans of each kind. */
  kinds: Record<string, number>;
  /** Spans that failed, by status, level or exception. */
  errors: number;
  /** Usage of the spans that count (see count-usage.ts). */
  tokens: { in: number; out: number };
  models: string[];
  providers: string[];
  session: string[];
  user: string[];
  /** The tags of one span, joined by `|`. */
  tags: string[];
  /**
   * `name@version` as sent, with `?` for a missing name. Only references of the spans themselves,
   * not inherited ones.
   */
  prompt: string[];
  /** Spans with a time to first token. */
  ttft: number;
  /** Model calls with both an input and an output. */
  llm_with_io: number;
  /** Sum of the reported costs of spans that count, in USD. Absent if no cost is reported. */
  cost?: number;
}

export interface ExpectedClient {
  /** Requests with traces. Other requests of the client are not counted. */
  requests: number;
  /** Number over all requests, including repeated ones. */
  spans_received: number;
  spans_unique: number;
  traces: ExpectedTrace[];
}

/** One recorded request of a real client. */
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
export function readCaptures(client: string, folder = captureFolder): Capture[] {
  const files = readdirSync(join(folder, client)).filter((file) => file.endsWith('.meta.json'));
  return files.sort().map((file) => {
    const meta = JSON.parse(readFileSync(join(folder, client, file), 'utf8'));
    const body = readFileSync(join(folder, client, meta.bodyFile));
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

/** Sends a recorded request again with the same headers, spelling and chunks, but with another key. */
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
