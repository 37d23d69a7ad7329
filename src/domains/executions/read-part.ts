import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import type { TraceKey } from '../spans/index.ts';
import { findSpanRows, type SpanPart } from '../spans/reads.ts';
import { LargePartError, requireSmallPart } from './large-parts.ts';
import { logsReader, type ShownPart } from './read-logs.ts';
import { partBytesMax } from './read-span-page.ts';
import { ownerReader, partText } from './span-parts.schema.ts';

/**
 * Returns the JSON text of one span part, or undefined when there is no such span.
 * @throws LargeTraceError or LargePartError when the span or the span part is large and `large` is false
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function readPart(
  { clickhouse, large }: { clickhouse: ClickHouse; large: boolean },
  trace: TraceKey,
  spanId: string,
  part: ShownPart,
): Promise<string | undefined> {
  if (part === 'logs') return readLogsPart({ clickhouse, large }, trace, spanId);
  const bytesMax = Number.MAX_SAFE_INTEGER;
  const bounds = { include: new Set([part]), partBytesMax: large ? bytesMax : partBytesMax, bytesMax, large };
  const [row] = await findSpanRows(clickhouse, trace, [spanId], bounds);
  if (row === undefined) return undefined;
  if (row.cut.length > 0) throw new LargePartError(part);
  if (!large) requireSmallPart(row, part);
  return partText(row, part, ownerReader());
}

async function readLogsPart(
  deps: { clickhouse: ClickHouse; large: boolean },
  trace: TraceKey,
  spanId: string,
): Promise<string | undefined> {
  const { large } = deps;
  const bounds = { include: new Set<SpanPart>(), partBytesMax, bytesMax: Number.MAX_SAFE_INTEGER, large };
  const [row] = await findSpanRows(deps.clickhouse, trace, [spanId], bounds);
  if (row === undefined) return undefined;
  return logsReader(deps, trace)([spanId])(spanId);
}

/**
 * Returns a function that reads the large parts of a trace's spans. It throws as {@link readPart}
 * does.
 */
export function largePartReader(
  deps: { clickhouse: ClickHouse; large: boolean },
  trace: TraceKey,
): (spanId: string, part: SpanPart) => Promise<string> {
  return async (spanId, part) => {
    if (!deps.large) throw new LargePartError(part);
    return (await readPart(deps, trace, spanId, part)) ?? 'null';
  };
}
