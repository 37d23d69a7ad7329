import type { ProjectId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { RunState } from './run.ts';

/** What readers of a run are told, numbered from 1 without gaps. */
export interface RunEvent {
  seq: number;
  type: 'state' | 'progress' | 'candidate';
  data: Readonly<Record<string, unknown>>;
}

/** Numbers events of a run and stores them. The caller's transaction has written to the run before. */
export async function insertRunEvents(
  transaction: Postgres,
  { projectId, runId }: { projectId: ProjectId; runId: string },
  events: readonly Omit<RunEvent, 'seq'>[],
): Promise<void> {
  if (events.length === 0) return;
  const [row]: { event_seq: number }[] = await transaction('optimization_runs')
    .where({ project_id: projectId, id: runId })
    .update({ event_seq: transaction.raw('event_seq + ?', [events.length]) })
    .returning('event_seq');
  if (row === undefined) return;
  const first = row.event_seq - events.length + 1;
  await transaction('optimization_events').insert(
    events.map(({ type, data }, index) => ({
      ...{ project_id: projectId, run_id: runId, seq: first + index, type, data: JSON.stringify(data) },
    })),
  );
}

/** Reads the events of a run after a number, in their order. */
export async function listRunEvents(
  postgres: Postgres,
  { projectId, runId }: { projectId: ProjectId; runId: string },
  { afterSeq, limit }: { afterSeq: number; limit: number },
): Promise<RunEvent[]> {
  return postgres('optimization_events')
    .where({ project_id: projectId, run_id: runId })
    .where('seq', '>', afterSeq)
    .orderBy('seq')
    .limit(limit)
    .select<RunEvent[]>('seq', 'type', 'data');
}

/** How far the events of a run have come. */
export interface EventMark {
  runId: string;
  seq: number;
  state: RunState;
}

/** Reads how far the events of runs have come. Deleted runs are not in the result. */
export async function readEventMarks(
  postgres: Postgres,
  runs: readonly { projectId: ProjectId; runId: string }[],
): Promise<EventMark[]> {
  const { rows } = await postgres.raw<{ rows: EventMark[] }>(
    `select id as "runId", event_seq as seq, state from optimization_runs
     where (project_id, id) in (select * from unnest(?::text[], ?::text[]))`,
    [runs.map(({ projectId }) => projectId), runs.map(({ runId }) => runId)],
  );
  return rows;
}
