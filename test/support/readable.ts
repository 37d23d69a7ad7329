import { expect } from 'vitest';
import type { SendLog } from './sender.ts';
import type { Project, Stack } from './stack.ts';

/** The differences between the stored and the sent spans, as `traceId/spanId`. */
export interface Difference {
  /** Acknowledged spans that are not stored. */
  lost: string[];
  /** Spans that are stored more than once. */
  twice: string[];
  /** Stored spans that were never sent. */
  unexpected: string[];
}

const detailsMax = 20;

export function difference(sent: Pick<SendLog, 'attempted' | 'acknowledged'>, seen: readonly string[]): Difference {
  const distinct = new Set(seen);
  const counts = new Map<string, number>();
  for (const key of seen) counts.set(key, (counts.get(key) ?? 0) + 1);
  return {
    lost: [...sent.acknowledged].filter((key) => !distinct.has(key)),
    twice: [...distinct].filter((key) => counts.get(key) !== 1),
    unexpected: [...distinct].filter((key) => !sent.attempted.has(key)),
  };
}

/** Returns every span of the project as a read of the product finds it: with FINAL. */
export function readSpans(stack: Stack, project: Project): Promise<string[]> {
  return readSpanKeys(stack, project, 'FINAL');
}

/** Returns every stored row of the project, including duplicates that are not merged yet. */
export function readRawSpans(stack: Stack, project: Project): Promise<string[]> {
  return readSpanKeys(stack, project, '');
}

/**
 * Reads all pages of the list of executions. Returns the number of spans by trace id. Throws if a
 * trace appears twice.
 */
export async function readExecutions({ apiUrl }: Stack, project: Project): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  let cursor: string | null = null;
  do {
    const query: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const page: { data: { trace_id: string; span_count: number }[]; page: { next_cursor: string | null } } =
      await getJson(`${apiUrl}/api/projects/${project.id}/executions?limit=100${query}`, project);
    for (const { trace_id, span_count } of page.data) {
      if (counts.has(trace_id)) throw new Error(`The list has ${trace_id} twice`);
      counts.set(trace_id, span_count);
    }
    cursor = page.page.next_cursor;
  } while (cursor !== null);
  return counts;
}

/** Returns the spans of one execution from the API. */
export async function readExecution({ apiUrl }: Stack, project: Project, traceId: string): Promise<string[]> {
  const detail: { spans: { span_id: string }[] } = await getJson(
    `${apiUrl}/api/projects/${project.id}/executions/${traceId}`,
    project,
  );
  return detail.spans.map((span) => `${traceId}/${span.span_id}`);
}

/** Compares the store, the list and a sample of the details with the spans that were acknowledged to the senders. */
export async function expectExactlyOnce(stack: Stack, project: Project, log: SendLog): Promise<void> {
  expect(log.dropped).toEqual([]);
  const seen = await readSpans(stack, project);
  expect(difference(log, seen)).toEqual({ lost: [], twice: [], unexpected: [] });
  const truth = countByTrace(seen);
  const executions = await readExecutions(stack, project);
  expect([...executions].filter(([traceId, count]) => truth.get(traceId) !== count)).toEqual([]);
  expect(executions.size).toBe(truth.size);
  for (const traceId of [...truth.keys()].slice(0, detailsMax)) {
    const spans = await readExecution(stack, project, traceId);
    expect(spans.toSorted()).toEqual(seen.filter((key) => key.startsWith(traceId)).toSorted());
  }
}

function countByTrace(keys: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const key of keys) {
    const traceId = key.slice(0, 32);
    counts.set(traceId, (counts.get(traceId) ?? 0) + 1);
  }
  return counts;
}

async function readSpanKeys({ clickhouse }: Stack, project: Project, final: 'FINAL' | ''): Promise<string[]> {
  const result = await clickhouse.query({
    query: `SELECT concat(lower(hex(trace_id)), '/', lower(hex(span_id))) AS key FROM spans ${final}
            WHERE project_id = {projectId:String} ORDER BY key`,
    query_params: { projectId: project.id },
    format: 'JSONEachRow',
  });
  return (await result.json<{ key: string }>()).map((row) => row.key);
}

async function getJson<T>(url: string, project: Project): Promise<T> {
  const response = await fetch(url, { headers: { 'X-API-Key': project.apiKey } });
  if (response.status !== 200) throw new Error(`${url} responded with ${response.status}: ${await response.text()}`);
  return (await response.json()) as T;
}
