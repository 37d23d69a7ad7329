import { once } from 'node:events';
import type { Response } from 'express';
import { endpointsFor } from '../../http/endpoint.ts';
import { ForbiddenError, NotFoundError, UnauthenticatedError } from '../../lib/errors.ts';
import { FairLane } from '../../lib/fair-lane.ts';
import { type Principal, projectOf } from '../auth/index.ts';
import { reading, runParams, runPath, runProblems } from './params.schema.ts';
import { type ReadRunDeps, readRun, refOf } from './read-run.ts';
import type { RunEvent } from './run-event-store.ts';
import type { RunFeed } from './run-feed.ts';

export interface RunEventsDeps extends Pick<ReadRunDeps, 'postgres' | 'prompts'> {
  feed: RunFeed;
}

const { rawEndpoint } = endpointsFor<Principal>();

/** Streams of a process, which are half of its connections, and those of one workspace. More are refused at once. */
const streams = { name: 'event streams', capacity: 4_096, perKey: 512, waitingPerKey: 0, waitingMax: 0 };
/** A caller who may not read any more gets nothing after this time. */
const recheckMs = 1_000;
/** A client that reads nothing for this long is disconnected. */
const drainMsMax = 30_000;
const reconnectMs = 2_000;
const refusals = [UnauthenticatedError, ForbiddenError, NotFoundError];
const exampleEvents =
  'id: 1\nevent: state\ndata: {"status":"queued"}\n\n' +
  'id: 2\nevent: state\ndata: {"status":"running"}\n\n' +
  'id: 3\nevent: state\ndata: {"status":"completed","outcome":"improved","finish_reason":"budget_calls","error":null}\n\n';

/** Returns the endpoint that tells what happens to a run. */
export function runEventsEndpoint(deps: RunEventsDeps) {
  const places = new FairLane(streams);
  return rawEndpoint({
    ...reading,
    operationId: 'streamOptimizationEvents',
    path: `${runPath}/events`,
    summary: 'Follow an optimization run as server-sent events',
    description:
      'Events are `state`, `progress` and `candidate`, with JSON data and ids. All events since the start come first, or with ' +
      '`Last-Event-ID` those after it. The last event has the final `status`; then the stream ends. It ends before that ' +
      'when the caller may not read the run any more.',
    // A stream lasts as long as a run. The lane here bounds the streams.
    lane: 'none',
    params: runParams,
    responses: { 200: { description: 'The events', contentType: 'text/event-stream', example: exampleEvents } },
    problems: [...runProblems, 'workspace_busy', 'server_busy'],
    handle: async (req, res, { principal, params, headers, signal, reauthorize }) => {
      const project = projectOf(principal);
      await places.run(project.workspaceId, async () => {
        const named = { project, idOrSlug: params.prompt_id, runId: params.run_id };
        const run = await deps.feed.inTurn(project.workspaceId, () => readRun(deps, named), { signal });
        begin(res);
        if (req.method === 'HEAD') {
          res.end();
          return;
        }
        const followed = { ...refOf(run), workspaceId: project.workspaceId };
        const afterSeq = sequenceIn(headers['last-event-id']);
        const mayRead = checkedAtIntervals(reauthorize);
        for await (const event of deps.feed.follow(followed, afterSeq, signal)) {
          if (!(await mayRead())) break;
          await write(res, textOf(event), signal);
        }
        res.end();
      });
    },
  });
}

function begin(res: Response): void {
  res.status(200);
  res.setHeader('Content-Type', 'text/event-stream; charset=utf-8');
  res.setHeader('Cache-Control', 'no-store, no-transform');
  // nginx would collect events otherwise.
  res.setHeader('X-Accel-Buffering', 'no');
  res.flushHeaders();
  res.write(`retry: ${reconnectMs}\n\n`);
}

/** Returns a function that says whether the caller may still read. It looks at most once per {@link recheckMs}. */
function checkedAtIntervals(reauthorize: () => Promise<void>): () => Promise<boolean> {
  let checkedAtMs = performance.now();
  return async () => {
    if (performance.now() - checkedAtMs < recheckMs) return true;
    checkedAtMs = performance.now();
    try {
      await reauthorize();
      return true;
    } catch (error) {
      // While Postgres is away nobody is refused, and there is no news to read either.
      return !refusals.some((type) => error instanceof type);
    }
  };
}

/** Returns the text of an event. Without one, a comment keeps the connection open. */
function textOf(event: RunEvent | undefined): string {
  if (event === undefined) return ': the run goes on\n\n';
  return `id: ${event.seq}\nevent: ${event.type}\ndata: ${JSON.stringify(event.data)}\n\n`;
}

/** Reads the number of the last event that a client has. Anything else means none. */
function sequenceIn(header: string | string[] | undefined): number {
  return typeof header === 'string' && /^\d{1,9}$/.test(header) ? Number(header) : 0;
}

/** Writes at the speed of the client, and disconnects one that does not read. */
async function write(res: Response, text: string, signal: AbortSignal): Promise<void> {
  if (res.destroyed || res.write(text)) return;
  const patience = AbortSignal.timeout(drainMsMax);
  try {
    await once(res, 'drain', { signal: AbortSignal.any([signal, patience]) });
  } catch (error) {
    if (!patience.aborted) throw error;
    res.destroy();
  }
}
