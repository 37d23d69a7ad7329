import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Engine } from './engine.ts';
import { EngineError, parseEngineError } from './errors.ts';
import { insertFromFile } from './insert-statement.ts';
import { noteStatement } from './note-statement.ts';
import { prelude } from './prelude.ts';
import type { Job, Outcome } from './protocol.ts';
import { readStatement, type Statement } from './read-statement.ts';
import { decodedBody, isForm, parseRequest, type QueryRequest, readForm, requireShortParameters } from './request.ts';
import { ResultResponse } from './response.ts';
import type { SessionPool } from './session-pool.ts';
import { withSpooledRows } from './spool.ts';
import { topLevelWords } from './sql-words.ts';

export interface Backend {
  engine: Engine;
  /** There are two pools, so that slow selects do not delay an INSERT. */
  selects: SessionPool;
  inserts: SessionPool;
}

const HELD_BYTES_MAX = 1024 * 1024;
const HELD_TO_END_BYTES_MAX = 256 * 1024 * 1024;

/** Responds to one query. Every error becomes a response. `signal` is aborted when the client disconnects. */
export async function runQuery(
  backend: Backend,
  request: IncomingMessage,
  search: URLSearchParams,
  response: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  const startedAt = process.hrtime.bigint();
  const parsed = parseRequest(request, search);
  const result = new ResultResponse(response, {
    queryId: parsed.queryId,
    timezone: backend.engine.timezone,
    version: backend.engine.version,
    encoding: parsed.responseEncoding,
    heldBytesMax: parsed.waitsForEnd ? HELD_TO_END_BYTES_MAX : HELD_BYTES_MAX,
  });
  try {
    if (isForm(request)) await readForm(request, parsed);
    requireShortParameters(parsed);
    const statement = await readStatement(parsed.urlQuery, decodedBody(request));
    noteStatement(request, parsed, statement);
    result.format = formatOf(statement, parsed.defaultFormat);
    const summary = await runStatement(backend, parsed, statement, result, signal);
    await result.end({ ...summary, elapsed_ns: Number(process.hrtime.bigint() - startedAt) });
  } catch (error) {
    result.fail(toEngineError(error));
  }
}

async function runStatement(
  backend: Backend,
  parsed: QueryRequest,
  statement: Statement,
  result: ResultResponse,
  signal: AbortSignal,
): Promise<Readonly<Record<string, number>>> {
  if (statement.kind === 'plain') {
    const { rowsRead, bytesRead } = await run(backend, 'selects', parsed, statement.sql, result, signal);
    return { read_rows: rowsRead, read_bytes: bytesRead, result_rows: rowsRead, result_bytes: bytesRead };
  }
  return withSpooledRows(backend.engine.spoolPath, statement.rows, async (path) => {
    // As on a real server, a complete INSERT continues after its client has disconnected.
    const patient = new AbortController().signal;
    const sql = insertFromFile(statement.insert, path);
    const { rowsRead, bytesRead } = await run(backend, 'inserts', parsed, sql, result, patient);
    const written = { written_rows: rowsRead, written_bytes: bytesRead };
    return { ...written, read_rows: rowsRead, read_bytes: bytesRead, result_rows: rowsRead, result_bytes: bytesRead };
  });
}

function run(
  backend: Backend,
  pool: 'selects' | 'inserts',
  parsed: QueryRequest,
  query: string,
  result: ResultResponse,
  signal: AbortSignal,
): Promise<Outcome> {
  if (query === '') throw new EngineError(62, 'SYNTAX_ERROR', 'Syntax error: Empty query.');
  const mark = ` [${crypto.randomUUID()}]`;
  const settings = new Map([...BASE_SETTINGS, ...parsed.settings]);
  settings.set('log_comment', (parsed.settings.get('log_comment') ?? '') + mark);
  const job: Job = {
    prelude: prelude({ database: parsed.database, settings, params: parsed.params }),
    query,
    format: parsed.defaultFormat,
    streamable: pool === 'selects',
  };
  return backend[pool].run(job, {
    onChunk: (bytes) => result.write(bytes),
    signal,
    kill: () => backend.engine.kill(mark),
  });
}

/**
 * Settings that differ from the defaults of a server. Two threads, because engines, API and workers
 * share the machine. Blocks are so large that one INSERT is one block and therefore atomic.
 * `implicit_select` is the default of chDB. The output format uses no threads, because they take a
 * third of the time of a small statement.
 */
const BASE_SETTINGS: ReadonlyMap<string, string> = new Map([
  ['max_threads', '2'],
  ['max_insert_threads', '1'],
  ['min_insert_block_size_rows', '1048576'],
  ['min_insert_block_size_bytes', '2147483648'],
  ['implicit_select', '0'],
  ['output_format_parallel_formatting', '0'],
]);

/** Returns the format for the headers: that of the FORMAT clause, which only SETTINGS may follow, or the default. */
function formatOf(statement: Statement, defaultFormat: string): string {
  if (statement.kind === 'insert') return defaultFormat;
  const words = [...topLevelWords(statement.sql)];
  const at = words.findLastIndex((word) => word.previous === 'FORMAT');
  const next = words[at + 1]?.text.toUpperCase() ?? 'SETTINGS';
  return next === 'SETTINGS' ? (words[at]?.text ?? defaultFormat) : defaultFormat;
}

function toEngineError(error: unknown): EngineError {
  if (error instanceof EngineError) return error;
  const text = error instanceof Error ? error.message : String(error);
  return parseEngineError(text);
}
