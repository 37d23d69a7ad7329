import { z } from 'zod';
import { decodeCursor, encodeCursor, fingerprintOf } from '../../lib/cursor.ts';
import type { TraceKey } from '../spans/index.ts';
import { findPromptLinks, type SpanDetail, type SpanPlace } from '../spans/reads.ts';
import { checkedTraceId, unknownExecution } from './execution-not-found.ts';
import { logsReader, type ShownPart } from './read-logs.ts';
import { largePartReader } from './read-part.ts';
import { readSpanPage, storedSpans } from './read-span-page.ts';
import type { TraceReadDeps } from './trace-read-deps.ts';

/**
 * Returns a page of the spans of one trace in order of start, as JSON text.
 * @throws NotFoundError when the trace has no spans
 * @throws MalformedError for a cursor of another list
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function listSpans(
  deps: TraceReadDeps,
  input: {
    projectId: string;
    traceId: string;
    cursor?: string | undefined;
    limit: number;
    include: ReadonlySet<ShownPart>;
  },
): Promise<string> {
  const trace = { projectId: input.projectId, traceId: checkedTraceId(input.traceId) };
  const after = input.cursor === undefined ? undefined : placeOf(deps.cursorSecret, trace, input.cursor);
  const { limit, include } = input;
  const [links, source] = await Promise.all([
    findPromptLinks(deps, trace),
    storedSpans(deps, { trace, after, limit, include }),
  ]);
  const promptOf = (row: SpanDetail) => links.get(row.spanId) ?? row.prompt;
  const { spans, last } = await readSpanPage(source, {
    limit,
    include,
    promptOf,
    readPart: largePartReader(deps, trace),
    large: deps.large,
    readLogs: logsReader(deps, trace),
  });
  if (spans.length === 0 && after === undefined) throw unknownExecution();
  const page = {
    next_cursor: last === undefined ? null : spanCursor(deps.cursorSecret, trace, last),
    has_more: last !== undefined,
    limit,
  };
  return `{"data":[${spans.join()}],"page":${JSON.stringify(page)}}`;
}

/** Returns the cursor of the page that begins after this span. */
export function spanCursor(secret: string, trace: TraceKey, { startUnixNano, spanId }: SpanPlace): string {
  return encodeCursor(secret, fingerprint(trace), [String(startUnixNano), spanId]);
}

function placeOf(secret: string, trace: TraceKey, cursor: string): SpanPlace {
  const [startUnixNano, spanId] = decodeCursor(secret, fingerprint(trace), cursor, position);
  return { startUnixNano: BigInt(startUnixNano), spanId };
}

const position = z.tuple([z.string().regex(/^\d{1,20}$/), z.string().regex(/^[0-9a-f]{16}$/)]);
const fingerprint = ({ projectId, traceId }: TraceKey) => fingerprintOf({ list: 'spans', projectId, traceId });
