import type { ProjectId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { RunState } from './run.ts';

/** What readers of a run are told, numbered from 1 without gaps. */
export interface RunEvent {
  seq: number;
  type: 'state' | 'progress' | 'candidate';
  data: Readonly<Record<string, unknown>>;
}

/**
 * Numbers events of a run and stores them. The caller's transaction has written to the run before. A candidate is a row
 * of its own, and the run shows how many there are and the best, so each changes the revision of the run.
 */
export async function insertRunEvents(
  transaction: Postgres,
  { projectId, runId }: { projectId: ProjectId; runId: string },
  events: readonly Omit<RunEvent, 'seq'>[],
): Promise<void> {
  if (events.length === 0) return;
  const candidates = events.filter(({ type }) => type === 'candidate').length;
  const [row]: { event_seq: number }[] = await transaction('optimization_runs')
    .where({ project_id: projectId, id: runId })
    .update({
      event_seq: transaction.raw('event_seq + ?', [events.length]),
      revision: transaction.raw('revision + ?', [candidates]),
    })
    .returning('event_seq');
  if (row === undefined) return;
  const first = row.event_seq - events.length + 1;
  await transaction('optimization_events').insert(
    events.map(({ type, data }, index) => ({
      ...{ project_id: projectId, run_id: runId, seq: first + index, type, data: JSON.stringify(data) },
    })),
  );
}

/** An event and the bytes of its data. */
export type StoredEvent = RunEvent & { bytes: number };

/** Reads the events of a run after a number, in their order: so many and of so many bytes at most, but one if there is one. */
export async function listRunEvents(
  postgres: Postgres,
  { projectId, runId }: { projectId: ProjectId; runId: string },
  { afterSeq, limit, bytesMax }: { afterSeq: number; limit: number; bytesMax: number },
): Promise<StoredEvent[]> {
  const { rows } = await postgres.raw<{ rows: StoredEvent[] }>(
    `with next as (
       select seq, type, data, octet_length(data::text) as bytes from optimization_events
       where project_id = ? and run_id = ? and seq > ? order by seq limit ?
     )
     select seq, type, data, bytes from (select *, sum(bytes) over (order by seq) as total from next) as measured
     where total <= ? or total = bytes order by seq`,
    [projectId, runId, afterSeq, limit, bytesMax],
  );
  return rows;
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
