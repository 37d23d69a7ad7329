import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Transform, Writable } from 'node:stream';
import { constants, createDeflate, createGzip } from 'node:zlib';
import { type EngineError, httpStatusOf } from './errors.ts';

export interface ResponseFacts {
  queryId: string;
  timezone: string;
  version: string;
  encoding: 'gzip' | 'deflate' | undefined;
  /** Largest number of bytes that wait for the end of the result before the status is sent. */
  heldBytesMax: number;
}

/** Figures of X-ClickHouse-Summary. A real server sends them as strings. */
export type Summary = Readonly<Record<string, number>>;

/**
 * Sends one result. Nothing is sent up to `heldBytesMax`, so that an early error has its own
 * status. A later error is written into the body with the tag of X-ClickHouse-Exception-Tag, and
 * the body stays incomplete.
 */
export class ResultResponse {
  /** Format of the body, set when it is known. */
  format = 'TabSeparated';
  readonly #response: ServerResponse;
  readonly #facts: ResponseFacts;
  readonly #tag = randomBytes(8).toString('hex');
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  #encoder: Transform | undefined;
  #out: Writable | undefined;

  constructor(response: ServerResponse, facts: ResponseFacts) {
    this.#response = response;
    this.#facts = facts;
    // A client can disconnect at any time. Only `write` handles this.
    response.on('error', () => undefined);
  }

  async write(bytes: Uint8Array): Promise<void> {
    if (this.#out !== undefined) return writeTo(this.#out, bytes);
    this.#held.push(bytes);
    this.#heldBytes += bytes.length;
    if (this.#heldBytes > this.#facts.heldBytesMax) await this.#open({});
  }

  async end(summary: Summary): Promise<void> {
    if (this.#out === undefined) await this.#open(summary);
    this.#finish(() => this.#response.end());
  }

  fail(error: EngineError): void {
    if (this.#response.destroyed) return;
    const text = error.toBody(this.#facts.version);
    if (this.#out !== undefined) {
      this.#failInside(this.#out, text);
      return;
    }
    this.#setHeaders({});
    this.#response.statusCode = httpStatusOf(error);
    this.#response.setHeader('X-ClickHouse-Exception-Code', String(error.code));
    this.#response.setHeader('Content-Type', 'text/plain; charset=UTF-8');
    this.#response.end(text);
  }

  async #open(summary: Summary): Promise<void> {
    this.#setHeaders(summary);
    if (this.#facts.encoding !== undefined) this.#encoder = startEncoder(this.#response, this.#facts.encoding);
    this.#out = this.#encoder ?? this.#response;
    for (const bytes of this.#held) await writeTo(this.#out, bytes);
    this.#held = [];
  }

  #setHeaders(summary: Summary): void {
    const values = Object.entries(summary).map(([name, value]) => [name, String(value)]);
    const headers = {
      'Content-Type': CONTENT_TYPES[this.format] ?? 'text/plain; charset=UTF-8',
      'X-ClickHouse-Server-Display-Name': 'embedded',
      'X-ClickHouse-Query-Id': this.#facts.queryId,
      'X-ClickHouse-Format': this.format,
      'X-ClickHouse-Timezone': this.#facts.timezone,
      'X-ClickHouse-Exception-Tag': this.#tag,
      'X-ClickHouse-Summary': JSON.stringify({ ...EMPTY_SUMMARY, ...Object.fromEntries(values) }),
    };
    for (const [name, value] of Object.entries(headers)) this.#response.setHeader(name, value);
  }

  /**
   * Like a real server, writes the exception between two markers, then closes the connection
   * without ending the body.
   */
  #failInside(out: Writable, text: string): void {
    const length = Buffer.byteLength(text);
    out.write(`\r\n__exception__\r\n${this.#tag}\r\n${text}${length} ${this.#tag}\r\n__exception__\r\n`);
    this.#finish(() => this.#response.write('', () => this.#response.socket?.destroySoon()));
  }

  /** Calls `last` after all written data was passed to the response. */
  #finish(last: () => void): void {
    if (this.#encoder === undefined) last();
    else this.#encoder.once('end', last).end();
  }
}

async function writeTo(out: Writable, bytes: Uint8Array): Promise<void> {
  if (out.destroyed) throw new Error('the client has disconnected');
  if (out.write(bytes)) return;
  const settled = new AbortController();
  const { signal } = settled;
  await Promise.race([once(out, 'drain', { signal }), once(out, 'close', { signal })]).finally(() => settled.abort());
}

function startEncoder(response: ServerResponse, encoding: 'gzip' | 'deflate'): Transform {
  response.setHeader('Content-Encoding', encoding);
  const level = { level: constants.Z_BEST_SPEED };
  const encoder = encoding === 'gzip' ? createGzip(level) : createDeflate(level);
  response.once('close', () => encoder.destroy());
  encoder.pipe(response, { end: false });
  return encoder;
}

const EMPTY_SUMMARY = Object.fromEntries(
  ['read_rows', 'read_bytes', 'written_rows', 'written_bytes', 'total_rows_to_read', 'result_rows', 'result_bytes']
    .concat('elapsed_ns')
    .map((name) => [name, '0']),
);

const BINARY = 'application/octet-stream';
const CONTENT_TYPES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['JSON', 'JSONCompact', 'JSONStrings', 'JSONCompactStrings', 'JSONColumns', 'JSONColumnsWithMetadata']
      .concat('JSONObjectEachRow', 'JSONCompactColumns')
      .map((name) => [name, 'application/json; charset=UTF-8']),
  ),
  JSONEachRow: 'application/x-ndjson; charset=UTF-8',
  CSV: 'text/csv; charset=UTF-8; header=absent',
  CSVWithNames: 'text/csv; charset=UTF-8; header=present',
  TabSeparated: 'text/tab-separated-values; charset=UTF-8',
  TabSeparatedWithNames: 'text/tab-separated-values; charset=UTF-8',
  RowBinary: BINARY,
  RowBinaryWithNamesAndTypes: BINARY,
  Native: BINARY,
  Parquet: BINARY,
  Arrow: BINARY,
  ArrowStream: BINARY,
};
