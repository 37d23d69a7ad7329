import { TooLargeError } from '../../lib/errors.ts';
import { type ClickHouse, stoppable } from '../../stores/clickhouse/client.ts';
import type { PromptFinder } from '../prompts/index.ts';
import { checkedTraceId } from './execution-not-found.ts';
import type { Reader, ReadLanes } from './read-lanes.ts';
import { LargePartError } from './read-part.ts';
import { countRows } from './span-queries.ts';
import { type TraceReadInput, type TraceReadName, traceReads } from './trace-reads.ts';
import type { TraceThreads } from './trace-threads.ts';

/** The work on so many rows, and so many bytes of them, takes some 20 ms; a trace that has more is read in a thread. */
const rowsHereMax = 1_000;
const hereSettings = { max_result_bytes: `${8 * 1024 * 1024}` } as const;

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
  const small = await lanes.quick(reader, () => readHere(deps, name, input, reader.signal));
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
  const trace = { projectId: input.projectId, traceId: checkedTraceId(input.traceId) };
  if ((await countRows(own, trace)) > rowsHereMax) return undefined;
  try {
    return Buffer.from(await traceReads[name]({ clickhouse: own, knownPrompts, cursorSecret, large: false }, input));
  } catch (error) {
    const isLarge = error instanceof TooLargeError && error.code === 'result_too_large';
    if (isLarge || error instanceof LargePartError) return undefined;
    throw error;
  }
}
