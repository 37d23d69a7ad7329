import { serialize } from 'node:v8';
import { type MessagePort, workerData } from 'node:worker_threads';
import { move, transferableSymbol, valueSymbol } from 'piscina';
import { inflateBounded } from '../../../otlp/inflate.ts';
import type { OtlpLimits } from '../../../otlp/limits.ts';
import type { IngestBodyPayload } from '../../../queue/job-catalog.ts';
import { lowerThreadPriority } from '../../../runtime/low-priority.ts';
import { noteThreadBegins } from '../../../runtime/thread-time.ts';
import { type ClickHouse, connectClickHouse, lastSettings } from '../../../stores/clickhouse/client.ts';
import { readJoinedText, readRecords } from '../../conventions/reads.ts';
import { findRecordsOf, type RecordFinder } from '../../log-records/reads.ts';
import { type PriceOverrides, PriceTable } from '../../pricing/index.ts';
import { promptsOver } from '../../prompt-links/index.ts';
import { lightSpanOf, type SpanRow } from '../../spans/index.ts';
import { asBadBody, BadBodyError } from './body-errors.ts';
import { type EncodedBody, encodeRows, LargeRecordsError, linkRows, readRows } from './encode-body.ts';
import { encodeLogBody } from './encode-log-body.ts';
import { priceSearchesMax } from './span-cost.ts';

/** What each thread is started with. */
export interface EncodeThreadData {
  clickhouseUrl: string;
}

export interface EncodeTask {
  payload: IngestBodyPayload;
  body: Uint8Array;
  overrides: PriceOverrides;
  limits: OtlpLimits;
  /** Whether the project may have log records of these spans. */
  mayHaveRecords: boolean;
  keepOtherLogs: boolean;
  /** The port to the main thread, which finds prompts. */
  prompts: MessagePort;
  /** One number, for `noteThreadBegins`. */
  begun: Int32Array;
}

/** Errors lose their class between threads, so a body that cannot become rows is a value here. */
export type EncodeOutcome = EncodedInThread | { bad: string };

/**
 * The light spans come as several chunks of bytes: reading them in one go would block the main
 * thread.
 */
export interface EncodedInThread extends EncodedBody {
  lightChunks: readonly Uint8Array[];
}

/**
 * Bytes of the log records of all spans of a body; with more, they are joined later. So they are when
 * ClickHouse does not answer in time.
 */
const recordBytesMax = 4 * 1024 * 1024;
const lookUp = { requestTimeoutMs: 3_000, settings: { ...lastSettings, max_execution_time: 2 } };
const spansPerChunk = 125;
/**
 * Traces of fewer spans, on average, are summarized from the light spans of the body. A body has
 * few larger traces, and those are read from ClickHouse.
 */
const spansPerTraceMax = 100;

const priceTable = new PriceTable();
let clickhouse: ClickHouse | undefined;

/**
 * Runs in a thread: turns one body into rows. The bytes of the rows are transferred, not copied.
 */
export async function encodeInThread(task: EncodeTask): Promise<EncodeOutcome> {
  lowerThreadPriority();
  noteThreadBegins(task.begun);
  try {
    return handedOver(await encode(task));
  } catch (error) {
    const cause = asBadBody(error);
    if (cause instanceof BadBodyError) return { bad: cause.message };
    throw error;
  } finally {
    task.prompts.close();
  }
}

async function encode(task: EncodeTask): Promise<EncodedInThread> {
  const { payload, body, overrides, limits } = task;
  const inflated = await inflateBounded(
    payload.coding,
    Buffer.from(body.buffer, body.byteOffset, body.length),
    Math.max(limits.inflatedBytesMax, payload.inflatedBytes),
  );
  const prices = { table: priceTable, overrides, budget: { left: priceSearchesMax } };
  if (payload.signal === 'logs') {
    const given = { payload, limits, keepOther: task.keepOtherLogs };
    return { ...(await encodeLogBody(given, { body, inflated })), lightChunks: [] };
  }
  const finder: RecordFinder = { mayHave: () => task.mayHaveRecords, find: findHere };
  const given = { payload, limits, prices };
  const loadReaders = async () => ({ readJoinedText, readRecords });
  const records = { finder, bytesMax: recordBytesMax, loadReaders };
  const unlinked = await readRows({ ...given, records }, inflated).catch((error) => {
    // Spans with more log records than that are joined later.
    if (error instanceof LargeRecordsError) return readRows(given, inflated);
    throw error;
  });
  const rows = await linkRows(promptsOver(task.prompts), payload.projectId, unlinked);
  const encoded = encodeRows(rows);
  return { ...encoded, lightChunks: encoded.lightSpans === undefined ? chunksOf(rows, encoded) : [] };
}

/** Reading many records would block the main thread. */
async function findHere(...given: Parameters<RecordFinder['find']>): ReturnType<RecordFinder['find']> {
  const { clickhouseUrl }: EncodeThreadData = workerData;
  clickhouse ??= connectClickHouse(clickhouseUrl, lookUp);
  return findRecordsOf(clickhouse, ...given).catch(() => new Map());
}

function chunksOf(rows: readonly SpanRow[], { traces }: EncodedBody): Uint8Array[] {
  if (rows.length > traces.length * spansPerTraceMax) return [];
  const chunks: Uint8Array[] = [];
  for (let at = 0; at < rows.length; at += spansPerChunk) {
    // A copy is needed: `serialize` returns a view of a pool, which must not be transferred.
    chunks.push(new Uint8Array(serialize(rows.slice(at, at + spansPerChunk).map(lightSpanOf))));
  }
  return chunks;
}

/**
 * Marks the bytes of the rows and chunks for transfer. Piscina transfers what is listed as
 * transferable only after `move` has marked the result. Otherwise it copies, and the main thread
 * then receives 100 MiB in one turn. Small buffers lie in Node's buffer pool, which cannot be
 * transferred.
 */
export function handedOver(encoded: EncodedInThread): EncodedInThread {
  const { bytes } = encoded.rows;
  const isOwn = bytes.buffer.byteLength === bytes.length;
  const buffers = [...(isOwn ? [bytes.buffer] : []), ...encoded.lightChunks.map((chunk) => chunk.buffer)];
  const result = Object.assign({ [valueSymbol]: encoded, [transferableSymbol]: buffers }, encoded);
  move(result);
  return result;
}
