import { RateLimitedError, UnavailableError } from '../../lib/errors.ts';
import { FairLane } from '../../lib/fair-lane.ts';
import { requestWaitMsMax, type Waiter } from '../../lib/fair-lane-options.ts';
import type { ProjectId } from '../../lib/ids.ts';
import { mapInSlices, type Rest } from '../../lib/pace.ts';
import { type ClickHouse, stoppable } from '../../stores/clickhouse/client.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { FeedbackKind } from '../feedback/index.ts';
import { findRatedCalls, type Turn } from './from-executions/find-rated-calls.ts';
import { readRatedCalls } from './from-executions/read-rated-calls.ts';
import { RowCollection } from './from-executions/row-collection.ts';
import type { DropReason, ExecutionRow } from './from-executions/row-of-call.ts';
import type { RunWarning } from './run.ts';

export type { DropReason, ExecutionRow } from './from-executions/row-of-call.ts';

/** Calls whose texts are read at once: at most 192 KiB each. */
const callsPerPage = 50;

export const executionRowsMax = 1_000;
export const executionRowsDefault = 500;

/**
 * After these times the calls and the rows so far are used. The time of finding is shorter, so that there is some for the
 * rows of what was found. A turn that has begun may take 25 s longer, and a request without an answer is closed after 60 s.
 */
const times = { findingMsMax: 15_000, allMsMax: 30_000 };

export interface RowsFromExecutionsDeps {
  clickhouse: ClickHouse;
  postgres: Postgres;
  /** See {@link createRowsLane}. */
  rowsLane: FairLane;
}

export interface ExecutionsFilter {
  /** When the call began, as RFC 3339. `to` is excluded. Default: the 90 days before now. */
  from?: string | undefined;
  to?: string | undefined;
  /** Only calls with this feedback. `any` is any feedback. */
  feedback: FeedbackKind;
  /** Up to {@link executionRowsMax}. */
  limit: number;
}

export interface RowsFromExecutions {
  rows: ExecutionRow[];
  /** Calls with the wanted feedback that gave no row, by reason. */
  dropped: Partial<Record<DropReason, number>>;
  warnings: RunWarning[];
  /** Whether there was no time for all. */
  isCut: boolean;
}

/**
 * Creates the lane of {@link rowsFromExecutions} of a process, shared by all workspaces. It is not that of analytics,
 * because rows of many calls take much longer than a dashboard should wait. Each page takes a turn.
 */
export function createRowsLane(whyStuck: () => Error | undefined): FairLane {
  return new FairLane({
    name: 'reads of rated executions',
    capacity: 2,
    perKey: 1,
    waitingPerKey: 4,
    waitingMax: 16,
    waitMsMax: requestWaitMsMax,
    whyStuck,
  });
}

/**
 * Makes rows of recorded calls of a prompt that have feedback, newest first. A correction is what is
 * expected, otherwise the output if its feedback is positive. A call with other feedback gives a row
 * without an expected output. Calls that the service made for an optimization give none.
 * Reads the texts of {@link callsPerPage} calls at once. Ends early when the time is over, or when it has rows and there
 * is no turn for more.
 * @throws UnavailableError while a store is unavailable, the errors of the lane, and the reason of `signal`
 */
export async function rowsFromExecutions(
  deps: RowsFromExecutionsDeps,
  {
    project: { projectId, workspaceId },
    prompt,
    variables,
    filter,
    waiter,
    rest,
    msMax = times,
  }: {
    project: { projectId: ProjectId; workspaceId: string };
    prompt: { id: string };
    /** The paths of the prompt's variables, and whether each is required. */
    variables: ReadonlyMap<string, boolean>;
    filter: ExecutionsFilter;
    waiter: Waiter;
    rest: Rest;
    msMax?: typeof times;
  },
): Promise<RowsFromExecutions> {
  const turn: Turn = async (read) => {
    waiter.signal.throwIfAborted();
    return deps.rowsLane.run(workspaceId, read, { waiter });
  };
  const stores = { ...deps, clickhouse: stoppable(deps.clickhouse, waiter.signal) };
  const isOver = after(msMax.allMsMax);
  const found = await findRatedCalls(stores, {
    ...{ projectId, promptId: prompt.id, filter, turn },
    isOver: after(msMax.findingMsMax),
  });
  const { calls } = found;
  const collection = new RowCollection(variables, filter);
  let start = 0;
  for (; start < calls.length && !collection.isFull && !isOver(); start += callsPerPage) {
    const page = calls.slice(start, start + callsPerPage);
    const rated = await turn(() => readRatedCalls(stores, projectId, page, rest)).catch((error: unknown) => {
      if (collection.rows.length === 0 || !isBusy(error)) throw error;
    });
    if (rated === undefined) break;
    await mapInSlices(rated, (call) => collection.add(call), rest);
  }
  const isCut = found.isCut || (start < calls.length && !collection.isFull);
  const { rows, dropped } = collection;
  return {
    ...{ rows, dropped, isCut },
    warnings: [...found.warnings, ...(isCut ? [tookLong] : []), ...collection.warnings()],
  };
}

function after(ms: number): () => boolean {
  const endMs = performance.now() + ms;
  return () => performance.now() >= endMs;
}

/** Returns whether the lane had no turn, and not that reading failed. */
function isBusy(error: unknown): boolean {
  return error instanceof RateLimitedError || (error instanceof UnavailableError && error.code === 'server_busy');
}

const tookLong: RunWarning = {
  code: 'rows_truncated',
  message: 'Reading the executions took too long. The rows are of the newest',
};
