import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { pipeline, type Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { EngineError } from './errors.ts';

/** A request of ClickHouse's HTTP interface: https://clickhouse.com/docs/interfaces/http */
export interface QueryRequest {
  urlQuery: string;
  queryId: string;
  database: string;
  defaultFormat: string;
  settings: Map<string, string>;
  params: Map<string, string>;
  /** Whether the result is sent after its end, so that an error always has its own status. */
  waitsForEnd: boolean;
  responseEncoding: 'gzip' | 'deflate' | undefined;
}

export function parseRequest(request: IncomingMessage, search: URLSearchParams): QueryRequest {
  const parsed: QueryRequest = {
    urlQuery: search.get('query') ?? '',
    queryId: search.get('query_id') || randomUUID(),
    database: search.get('database') ?? header(request, 'x-clickhouse-database') ?? 'default',
    defaultFormat: search.get('default_format') ?? header(request, 'x-clickhouse-format') ?? 'TabSeparated',
    settings: new Map(),
    params: new Map(),
    waitsForEnd: search.get('wait_end_of_query') === '1',
    responseEncoding: undefined,
  };
  addArguments(parsed, search);
  if (ON.has(parsed.settings.get('enable_http_compression') ?? '0')) {
    parsed.responseEncoding = preferredEncoding(header(request, 'accept-encoding') ?? '');
  }
  // As on a real server, GET must not change data.
  if (request.method === 'GET') parsed.settings.set('readonly', '2');
  return parsed;
}

/** Returns whether query and parameters are in a form. Clients use it for values that are too long for a URL. */
export function isForm(request: IncomingMessage): boolean {
  return (header(request, 'content-type') ?? '').startsWith('multipart/form-data');
}

/** Adds the fields of a form to those of the URL. @throws TypeError if the form is malformed */
export async function readForm(request: IncomingMessage, parsed: QueryRequest): Promise<void> {
  const body = await buffer(decodedBody(request));
  const form = await new Response(body, {
    headers: { 'content-type': header(request, 'content-type') ?? '' },
  }).formData();
  const fields: Array<[string, string]> = [];
  for (const [name, value] of form) fields.push([name, typeof value === 'string' ? value : await value.text()]);
  parsed.urlQuery ||= fields.find(([name]) => name === 'query')?.[1] ?? '';
  addArguments(parsed, fields);
}

/** Decompresses the body. It fails if the client disconnects. @throws EngineError for an unknown Content-Encoding */
export function decodedBody(request: IncomingMessage): Readable {
  const encoding = header(request, 'content-encoding') ?? 'identity';
  if (encoding === '' || encoding === 'identity') return request;
  const decoder = Object.entries(DECODERS).find(([name]) => name === encoding)?.[1];
  if (decoder === undefined) {
    const known = Object.keys(DECODERS).join(', ');
    throw new EngineError(48, 'NOT_IMPLEMENTED', `Unknown compression method: ${encoding} (known: ${known})`);
  }
  return pipeline(request, decoder(), () => undefined);
}

/** @throws EngineError for a parameter that a real server refuses */
export function requireShortParameters({ params }: QueryRequest): void {
  for (const value of params.values()) {
    if (value.length > VALUE_BYTES_MAX) throw new EngineError(1000, 'POCO_EXCEPTION', 'Field value too long');
  }
}

/** Separates values into bound parameters and settings. Omits the values that only the HTTP interface uses. */
function addArguments(parsed: QueryRequest, values: Iterable<[string, string]>): void {
  for (const [name, value] of values) {
    if (name.startsWith('param_')) parsed.params.set(name.slice('param_'.length), value);
    else if (!HTTP_ONLY.has(name)) parsed.settings.set(name, value);
  }
}

/** `http_max_field_value_size` of a real server. */
const VALUE_BYTES_MAX = 128 * 1024;

const ON = new Set(['1', 'true']);

const HTTP_ONLY = new Set([
  ...['query', 'query_id', 'database', 'default_format', 'user', 'password', 'role', 'quota_key', 'stacktrace'],
  ...['session_id', 'session_timeout', 'session_check', 'close_session', 'client_protocol_version'],
  ...['wait_end_of_query', 'buffer_size', 'compress', 'decompress'],
]);

const DECODERS = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

function preferredEncoding(accepted: string): 'gzip' | 'deflate' | undefined {
  const names = accepted.split(',').map((part) => part.split(';')[0]?.trim());
  return (['gzip', 'deflate'] as const).find((name) => names.includes(name));
}

/** Returns the first value of a header. `name` is in lower case. */
export function header(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value[0] : value;
}
