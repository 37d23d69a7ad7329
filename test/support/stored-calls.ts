import type { ClickHouse } from '../../src/stores/clickhouse/client.ts';
import type { Postgres } from '../../src/stores/postgres/client.ts';
import type { ProjectOfTest } from './api.ts';
import { storedSpanId } from './stored-spans.ts';

/** Returns the id of a trace that {@link storeRatedCalls} stored. The first index is 0. */
export function storedTraceId(index: number): string {
  return (index + 1).toString(16).padStart(32, '0');
}

/**
 * Stores what is summed of executions, without their spans and without the queue, and feedback on each of them. Each
 * has as many calls of a prompt, in versions 1 and 2 in turn. With `span`, there is feedback with the score 0 on the
 * span with this index, too.
 */
export async function storeRatedCalls(
  { clickhouse, postgres }: { clickhouse: ClickHouse; postgres: Postgres },
  project: ProjectOfTest,
  { promptId, traces, calls, span }: { promptId: string; traces: number; calls: number; span?: number },
): Promise<void> {
  const startMs = Date.now() - 60_000;
  const call = `(unhex(leftPad(hex(at + 1), 16, '0')), 1, ${startMs}000000 + at * 1000, 1, -1, 'ok', 'p', 'm', true, true,
    1, 1, 0, 0, 0, 2, 1000, {promptId:String}, '', 1 + at % 2, '')`;
  await clickhouse.command({
    query: `INSERT INTO execution_facts (project_id, trace_id, version, received_at, start_unix_nano, end_unix_nano, calls)
      SELECT {projectId:String}, unhex(leftPad(hex(number + 1), 32, '0')), 1, now64(3), ${startMs}000000, ${startMs}000000,
        arrayMap(at -> ${call}, range(${calls})) FROM numbers(${traces})`,
    query_params: { projectId: project.id, promptId },
  });
  for (const spanId of span === undefined ? [null] : [null, storedSpanId(span)]) {
    await postgres.raw(
      `insert into feedback (id, project_id, target_type, target_key, trace_id, span_id, name, user_id, rating, author_type)
       select 'fbk_' || gen_random_uuid(), :projectId, :type, concat_ws('/', trace, :spanId::text), trace, :spanId, 'n', '', :rating, 'admin'
       from (select lpad(to_hex(n), 32, '0') as trace from generate_series(1, :traces) as n) as traces`,
      {
        ...{ projectId: project.id, traces, spanId, type: spanId === null ? 'execution' : 'span' },
        rating: spanId === null ? 'up' : 'down',
      },
    );
  }
}
