import { z } from 'zod';
import { toPage } from '../../http/pagination.ts';
import { decodeCursor, encodeCursor, fingerprintOf } from '../../lib/cursor.ts';
import { MalformedError } from '../../lib/errors.ts';
import { isoFromUnixNano, unixNanoFromDate } from '../../lib/time.ts';
import { type ClickHouse, stoppable } from '../../stores/clickhouse/client.ts';
import type { SharedPrompts } from '../prompt-links/index.ts';
import { countExecutions, type ListQuery } from './execution-place-queries.ts';
import { executionToWire } from './executions.schema.ts';
import type { FeedbackOfExecutions } from './feedback-of-executions.ts';
import type { Condition } from './filters/condition.ts';
import { attributePrefix } from './filters/execution-fields.ts';
import { expandFeedback } from './filters/expand-feedback.ts';
import { expandPrompts } from './filters/expand-prompts.ts';
import { conditionOf } from './filters/filter-parameters.ts';
import type { FindMentions } from './filters/mention-reads.ts';
import type { listExecutionsQuery } from './list-executions.schema.ts';
import type { Reader, ReadLanes } from './read-lanes.ts';
import { type ListedExecution, readList } from './read-list.ts';
import { resolveExecutionPrompts } from './resolve-execution-prompts.ts';

const defaultWindowMs = 7 * 24 * 60 * 60_000;

export interface ListExecutionsDeps {
  clickhouse: ClickHouse;
  /** Finds the names and template texts of prompts in a filter. */
  findMentions: FindMentions;
  /** Returns the latest moment that a list can show, see `createLatestMoment`. */
  latestMoment: () => number | undefined;
  knownPrompts: SharedPrompts;
  feedback: FeedbackOfExecutions;
  cursorSecret: string;
  lanes: ReadLanes;
}

export interface ListExecutionsInput {
  projectId: string;
  query: z.output<typeof listExecutionsQuery>;
}

/**
 * Contents of the cursor. It holds the window and the moment of the first page, so that all pages
 * show the same list, however much later they are read.
 */
const position = z.tuple([
  z.iso.datetime(),
  z.iso.datetime(),
  z.int(),
  z
    .string()
    .regex(/^\d{1,20}$/)
    .nullable(),
  z.string().length(32),
]);

/**
 * Returns one page of executions and its time window. Waits for a place in a lane that workspaces
 * share.
 * @throws MalformedError for an empty window, a bad filter or a cursor of another list
 * @throws RateLimitedError when the lane is full
 * @throws UnavailableError while a store is unavailable
 */
export async function listExecutionsPage(deps: ListExecutionsDeps, input: ListExecutionsInput, reader: Reader) {
  // Feedback and prompts may wait for Postgres, which must not keep a place from lists that do not ask for them.
  const asked = await askedOf(deps, input, reader);
  const { filter, include_total: includeTotal, q } = input.query;
  const searches =
    filter !== undefined || includeTotal || q !== undefined || input.query[attributePrefix] !== undefined;
  const clickhouse = stoppable(deps.clickhouse, reader.signal);
  return deps.lanes[searches ? 'search' : 'quick'](reader, () =>
    readPage({ ...deps, clickhouse }, asked, { input, reader }),
  );
}

/** The list that is asked for, and where its page starts. */
interface Asked {
  list: ListQuery;
  window: { from: Date; to: Date };
  start: { asOfMs: number; after: { key: string | null; traceId: string } } | undefined;
  /** What a cursor belongs to. */
  fingerprint: string;
}

async function askedOf(
  deps: ListExecutionsDeps,
  { projectId, query }: ListExecutionsInput,
  reader: Reader,
): Promise<Asked> {
  const { cursor, limit: _limit, fields: _fields, include_total: _includeTotal, ...asked } = query;
  const { from, to, sort, ...filters } = asked;
  const fingerprint = fingerprintOf({ list: 'executions', projectId, ...asked });
  const decoded = cursor === undefined ? undefined : decodeCursor(deps.cursorSecret, fingerprint, cursor, position);
  const window = decoded ? { from: new Date(decoded[0]), to: new Date(decoded[1]) } : windowOf(from, to);
  const condition = await withFeedback(deps, projectId, reader, { condition: conditionOf(filters), from: window.from });
  const list: ListQuery = {
    projectId,
    fromUnixNano: unixNanoFromDate(window.from),
    toUnixNano: unixNanoFromDate(window.to),
    condition: await expandPrompts(condition, (prompts) => deps.findMentions(reader, projectId, prompts)),
    sort,
  };
  const start = decoded && { asOfMs: decoded[2], after: { key: decoded[3], traceId: decoded[4] } };
  return { list, window, start, fingerprint };
}

async function readPage(
  deps: ListExecutionsDeps,
  { list, window, start, fingerprint }: Asked,
  { input: { projectId, query }, reader: { workspaceId } }: { input: ListExecutionsInput; reader: Reader },
) {
  const { limit, fields, include_total: includeTotal } = query;
  const [{ rows, asOfMs = 0 }, total] = await Promise.all([
    readList(deps.clickhouse, list, start, { count: limit + 1, latestMs: deps.latestMoment() }),
    includeTotal ? countExecutions(deps.clickhouse, list) : undefined,
  ]);
  const asksScore = fields === undefined || fields.includes('feedback_score');
  const [executions, scores] = await Promise.all([
    resolveExecutionPrompts(
      deps.knownPrompts.of(workspaceId),
      projectId,
      rows.map(({ execution }) => execution),
    ),
    asksScore ? deps.feedback.scoresOf({ workspaceId, projectId }, idsOf(rows.slice(0, limit))) : undefined,
  ]);
  const wireWindow = { from: isoFromUnixNano(list.fromUnixNano), to: isoFromUnixNano(list.toUnixNano) };
  const { data, page } = toPage(
    rows.map(({ place, execution }, index) => ({ place, execution: executions[index] ?? execution })),
    limit,
    ({ execution }) => only(executionToWire(execution, scores?.get(execution.traceId) ?? null), fields),
    ({ place }) =>
      encodeCursor(deps.cursorSecret, fingerprint, [
        positionTime(window.from),
        positionTime(window.to),
        asOfMs,
        place.key,
        place.traceId,
      ]),
  );
  return { data, page: { ...page, ...(total === undefined ? {} : { total }) }, window: wireWindow };
}

/** Formats a time for a cursor. Offsets can make it one before the year 0 or after 9999, which has no such format. */
const positionTime = (date: Date) => new Date(Math.min(Math.max(0, date.getTime()), lastTimeMs)).toISOString();
const lastTimeMs = Date.UTC(9999, 0);

/** Executions may start this long after their feedback, by the clock of their client. */
const clockToleranceMs = 24 * 60 * 60_000;

/** Replaces feedback in a condition, which ClickHouse does not know. */
function withFeedback(
  { feedback }: ListExecutionsDeps,
  projectId: string,
  reader: Reader,
  { condition, from }: { condition: Condition; from: Date },
): Promise<Condition> {
  const sinceMs = from.getTime() - clockToleranceMs;
  const project = { projectId, workspaceId: reader.workspaceId };
  return expandFeedback(condition, (max) => feedback.tracesWith(project, sinceMs, max, reader));
}

const idsOf = (rows: readonly ListedExecution[]) => rows.map(({ execution }) => execution.traceId);

function only<T extends object>(item: T, fields: readonly (keyof T)[] | undefined): Partial<T> {
  if (fields === undefined) return item;
  const chosen: Partial<T> = {};
  for (const field of fields) chosen[field] = item[field];
  return chosen;
}

function windowOf(from: string | undefined, to: string | undefined): { from: Date; to: Date } {
  const end = to === undefined ? new Date() : new Date(to);
  const start = from === undefined ? new Date(end.getTime() - defaultWindowMs) : new Date(from);
  if (start >= end) {
    throw new MalformedError(
      'invalid_parameter',
      `from (${start.toISOString()}) must be before to (${end.toISOString()}).`,
      { errors: [{ path: 'from', code: 'invalid_parameter', message: 'must be before to' }] },
    );
  }
  return { from: start, to: end };
}
