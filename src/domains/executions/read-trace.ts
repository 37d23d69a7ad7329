import { LRUCache } from 'lru-cache';
import { type ClickHouse, stoppable } from '../../stores/clickhouse/client.ts';
import { isTooLarge } from '../../stores/clickhouse/errors.ts';
import type { PromptFinder } from '../prompt-links/index.ts';
import { LargeTraceError } from '../spans/index.ts';
import type { Reader, ReadLanes } from './read-lanes.ts';
import { LargePartError } from './read-part.ts';
import { type TraceReadInput, type TraceReadName, traceReads } from './trace-reads.ts';
import type { TraceThreads } from './trace-threads.ts';

/** Of one query; see `rowsHereMax`. */
const hereSettings = { max_result_bytes: `${8 * 1024 * 1024}` } as const;

/** Reads that turned out too large, which are not tried here again: a thread reads what has become small as well. Shared by all workspaces. */
const knownLarge = new LRUCache<string, true>({ max: 5_000 });

export interface ReadTraceDeps {
  clickhouse: ClickHouse;
  knownPrompts: PromptFinder;
  cursorSecret: string;
  lanes: ReadLanes;
  threads: TraceThreads;
}

/**
 * The answer of a read of one trace: by this thread for one of ordinary size, by another for a large one. Throws NotFoundError,
 * MalformedError for a foreign cursor, RateLimitedError and UnavailableError.
 */
export async function readTrace<Name extends TraceReadName>(
  deps: ReadTraceDeps,
  name: Name,
  input: TraceReadInput<Name>,
  reader: Reader,
) {
  const { lanes, threads } = deps;
  const key = `${name} ${input.projectId} ${input.traceId}`;
  const small = knownLarge.get(key)
    ? undefined
    : await lanes.quick(reader, () => readHere(deps, name, input, reader.signal));
  if (small === undefined) knownLarge.set(key, true);
  const content = small ?? (await lanes.large(reader, () => threads.run(name, input, reader.signal)));
  await lanes.holdAnswer(reader, content.length);
  return { status: 200, contentType: 'application/json', content } as const;
}

/** Undefined for what is too large to be read here. */
async function readHere<Name extends TraceReadName>(
  { clickhouse, knownPrompts, cursorSecret }: ReadTraceDeps,
  name: Name,
  input: TraceReadInput<Name>,
  signal: AbortSignal,
): Promise<Uint8Array | undefined> {
  const own = stoppable(clickhouse, signal, hereSettings);
  try {
    return Buffer.from(await traceReads[name]({ clickhouse: own, knownPrompts, cursorSecret, large: false }, input));
  } catch (error) {
    if (isTooLarge(error) || error instanceof LargeTraceError || error instanceof LargePartError) return undefined;
    throw error;
  }
}
