import type { ShownPart } from '../../src/domains/executions/read-logs.ts';
import { traceReads } from '../../src/domains/executions/trace-reads.ts';
import type { TraceKey } from '../../src/domains/spans/index.ts';
import type { ClickHouse } from '../../src/stores/clickhouse/client.ts';

/** What the tests look at of a span. */
export interface SpanOfPage {
  span_id: string;
  logs?: { body: unknown }[];
  large_parts: { part: string; chars: number }[];
}

/** Dependencies of a read of a trace that names no prompts. */
export function traceReadDeps(clickhouse: ClickHouse, large: boolean) {
  return { clickhouse, cursorSecret: 'of no cursor here', knownPrompts: { find: async () => new Map() }, large };
}

/** Reads all spans of a trace page by page, as a thread of the API does. */
export async function readSpanPages(
  clickhouse: ClickHouse,
  trace: TraceKey,
  include: readonly ShownPart[],
): Promise<SpanOfPage[][]> {
  const pages: SpanOfPage[][] = [];
  let cursor: string | undefined;
  do {
    const input = { ...trace, cursor, limit: 1_000, include: new Set(include) };
    const { data, page } = JSON.parse(await traceReads.listSpans(traceReadDeps(clickhouse, true), input));
    pages.push(data);
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
  return pages;
}

/** Returns the ids of the spans of all pages, in their order. */
export function idsOfPages(pages: readonly SpanOfPage[][]): string[] {
  return pages.flat().map(({ span_id }) => span_id);
}
