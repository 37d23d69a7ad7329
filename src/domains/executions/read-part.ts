import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { findSpanRows, type SpanPart, type TraceKey } from '../spans/index.ts';
import { partBytesMax } from './read-span-page.ts';
import { ownerReader, partText } from './span-parts.schema.ts';

/** A part is too large to be turned into text without holding up everybody else: it is read in a thread. */
export class LargePartError extends Error {
  constructor(part: SpanPart) {
    super(`The part ${part} has over ${partBytesMax} bytes`);
  }
}

/**
 * The JSON text of one part of a span; undefined when there is no such span. Throws LargePartError for a large one unless
 * `large` says that those may be read here, and UnavailableError.
 */
export async function readPart(
  { clickhouse, large }: { clickhouse: ClickHouse; large: boolean },
  trace: TraceKey,
  spanId: string,
  part: SpanPart,
): Promise<string | undefined> {
  const bytesMax = Number.MAX_SAFE_INTEGER;
  const bounds = { include: new Set([part]), partBytesMax: large ? bytesMax : partBytesMax, bytesMax };
  const [row] = await findSpanRows(clickhouse, trace, [spanId], bounds);
  if (row === undefined) return undefined;
  if (row.cut.length > 0) throw new LargePartError(part);
  return partText(row, part, ownerReader());
}

/** Reads the large parts of a trace's spans, where that may be done here; see {@link readPart}. */
export function largePartReader(
  deps: { clickhouse: ClickHouse; large: boolean },
  trace: TraceKey,
): (spanId: string, part: SpanPart) => Promise<string> {
  return async (spanId, part) => {
    if (!deps.large) throw new LargePartError(part);
    return (await readPart(deps, trace, spanId, part)) ?? 'null';
  };
}
