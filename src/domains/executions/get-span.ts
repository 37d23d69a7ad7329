import { oneTurn, Pace } from '../../lib/pace.ts';
import { findPromptLinks, findSpanRows, partNames } from '../spans/reads.ts';
import { checkedSpanId, checkedTraceId, unknownSpan } from './execution-not-found.ts';
import { largePartReader } from './read-part.ts';
import { pageBytesMax, partBytesMax } from './read-span-page.ts';
import { ownerReader } from './span-parts.schema.ts';
import { spanToText } from './span-text.ts';
import type { TraceReadDeps } from './trace-read-deps.ts';

/**
 * Returns one span as JSON text. A span part of more than `partCharsMax` UTF-16 units of JSON text
 * is only listed in `large_parts`.
 * @throws NotFoundError when there is no such span
 * @throws UnavailableError while ClickHouse is unavailable
 * @throws LargeTraceError or LargePartError when `deps.large` is false and the span or a span part is
 * too large
 */
export async function getSpan(
  deps: TraceReadDeps,
  input: { projectId: string; traceId: string; spanId: string; partCharsMax: number },
): Promise<string> {
  const trace = { projectId: input.projectId, traceId: checkedTraceId(input.traceId) };
  const include = new Set(partNames);
  const bounds = { include, partBytesMax, bytesMax: pageBytesMax, large: deps.large };
  const [[row], links] = await Promise.all([
    findSpanRows(deps.clickhouse, trace, [checkedSpanId(input.spanId)], bounds),
    findPromptLinks(deps, trace),
  ]);
  if (row === undefined) throw unknownSpan();
  const prompt = links.get(row.spanId) ?? row.prompt;
  return spanToText(row, prompt, {
    include,
    partCharsMax: input.partCharsMax,
    owners: ownerReader(),
    large: deps.large,
    readPart: largePartReader(deps, trace),
    pace: new Pace(oneTurn),
  });
}
