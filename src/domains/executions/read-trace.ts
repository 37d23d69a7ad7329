import { LRUCache } from 'lru-cache';
import { originOf } from '../../lib/errors.ts';
import { type ClickHouse, stoppable } from '../../stores/clickhouse/client.ts';
import { isTooLarge, isTooMuchMemory } from '../../stores/clickhouse/errors.ts';
import type { SharedPrompts } from '../prompt-links/index.ts';
import { LargeTraceError } from '../spans/index.ts';
import { LargePartError } from './large-parts.ts';
import type { Reader, ReadLanes } from './read-lanes.ts';
import { type TraceReadInput, type TraceReadName, traceReads } from './trace-reads.ts';
import type { TraceThreads } from './trace-threads.ts';

/**
 * Settings of one query in the main thread; see `rowsHereMax` for the limit of rows. A normal trace takes 30 MB of
 * ClickHouse. It may read all texts of a large one before it finds out that they are too large.
 */
const hereSettings = { max_result_bytes: `${8 * 1024 * 1024}`, max_memory_usage: '250000000' } as const;

/**
 * Reads that were too large for the main thread. They go to a worker thread directly, even if the
 * trace has become small since. Shared by all workspaces; at most 5,000 entries.
 */
const knownLarge = new LRUCache<string, true>({ max: 5_000 });

export interface ReadTraceDeps {
  clickhouse: ClickHouse;
  knownPrompts: SharedPrompts;
  cursorSecret: string;
  lanes: ReadLanes;
  threads: TraceThreads;
}

/**
 * Reads one trace and returns the answer. A normal trace is read in this thread, a large one in a
 * worker thread.
 * @throws NotFoundError when the trace, span or span part does not exist
 * @throws MalformedError for a cursor of another list
 * @throws RateLimitedError when a lane is full
 * @throws UnavailableError while ClickHouse is unavailable or a read takes too long
 */
export async function readTrace<Name extends TraceReadName>(
  deps: ReadTraceDeps,
  name: Name,
  input: TraceReadInput<Name>,
  reader: Reader,
) {
  const { lanes, threads } = deps;
  const key = `${name} ${input.projectId} ${input.traceId}`;
  const small = knownLarge.get(key) ? undefined : await lanes.quick(reader, () => readHere(deps, name, input, reader));
  if (small === undefined) knownLarge.set(key, true);
  const content = small ?? (await lanes.large(reader, () => threads.run(name, input, reader)));
  return { status: 200, contentType: 'application/json', content } as const;
}

/** Reads in this thread. Returns undefined when the read is too large for it. */
async function readHere<Name extends TraceReadName>(
  { clickhouse, knownPrompts, cursorSecret }: ReadTraceDeps,
  name: Name,
  input: TraceReadInput<Name>,
  { workspaceId, signal }: Reader,
): Promise<Uint8Array | undefined> {
  try {
    const own = { clickhouse: stoppable(clickhouse, signal, hereSettings), knownPrompts: knownPrompts.of(workspaceId) };
    return Buffer.from(await traceReads[name]({ ...own, cursorSecret, large: false }, input));
  } catch (error) {
    if (isTooLarge(error) || isTooMuchMemory(originOf(error))) return undefined;
    if (error instanceof LargeTraceError || error instanceof LargePartError) return undefined;
    throw error;
  }
}
