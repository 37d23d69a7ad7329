import { ConflictError, NotFoundError } from '../../lib/errors.ts';
import { connectOptimizationQueue } from '../../queue/optimization-queue.ts';
import { connectPostgres } from '../../stores/postgres/client.ts';
import type { Redis } from '../../stores/redis/client.ts';
import type { Logger } from '../../telemetry/logger.ts';
import type { AuditActor } from '../audit/index.ts';
import { partKind } from '../parts/index.ts';
import { overrideCacheOf, PriceTable } from '../pricing/index.ts';
import { promptCollection, promptKind } from '../prompts/index.ts';
import { createPartSource } from '../rendering/index.ts';
import { TemplateThreads } from '../templates/index.ts';
import { type ChangeHook, ItemCache } from '../versioned/index.ts';
import { type ApplyRunDeps, applyCandidate } from './apply-run.ts';
import { resumeRuns } from './resume-runs.ts';
import type { Run, RunWarning } from './run.ts';
import { type RunOptimizationDeps, runOptimization } from './run-optimization.ts';
import type { Decision, Optimize } from './search/ports.ts';
import type { SendChat } from './send-chat.ts';

/** Its own connections, so that runs and ingestion do not wait for each other. */
const connectionsMax = 6;

export interface OptimizationJobsDeps {
  databaseUrl: string;
  redis: Redis;
  logger: Logger;
  stopping: AbortSignal;
  search: Optimize;
  send: SendChat;
  /** Runs in the transaction of every change of a prompt. */
  changed: ChangeHook;
}

export interface OptimizationJobs {
  run(payload: { projectId: string; runId: string }): Promise<void>;
  resume(): Promise<void>;
  close(): Promise<void>;
}

/** Items are read from the database, because a worker is not told of changes. */
const untold = { connected: false, publish: async () => undefined, subscribe: () => undefined, onGap: () => undefined };

/** Creates what the jobs of optimization runs need. Called once per process, when the first of them starts. */
export function createOptimizationJobs(deps: OptimizationJobsDeps): OptimizationJobs {
  const { redis, logger, stopping, search, send } = deps;
  const postgres = connectPostgres(deps.databaseUrl, connectionsMax);
  const threads = new TemplateThreads();
  const prompts = new ItemCache({ kind: promptKind, postgres, invalidations: untold });
  const parts = new ItemCache({ kind: partKind, postgres, invalidations: untold });
  const collection = promptCollection({ postgres, invalidations: untold, threads, changed: deps.changed });
  const queue = connectOptimizationQueue(redis);
  const running: RunOptimizationDeps = {
    ...{ postgres, search, send, prompts, logger, stopping },
    source: createPartSource({ parts, threads }),
    prices: { table: new PriceTable(), overrides: overrideCacheOf(postgres) },
    applyWinner: (run, decision) => applyWinner({ postgres, collection, prompts }, run, decision),
  };
  return {
    run: ({ projectId, runId }) => runOptimization(running, { projectId: projectId as Run['projectId'], runId }),
    resume: () => resumeRuns({ postgres, enqueueRuns: (runs) => queue.add(runs) }),
    async close() {
      await queue.queue.close();
      await threads.close();
      await postgres.destroy();
    },
  };
}

/** Makes a version of the winner on behalf of the run's creator. A changed prompt is a warning. */
async function applyWinner(deps: ApplyRunDeps, run: Run, { winnerId }: Decision): Promise<{ warning?: RunWarning }> {
  const actor = { type: run.createdBy.type as AuditActor['type'], id: run.createdBy.id, requestId: null };
  try {
    await applyCandidate(deps, { project: run, actor, run, candidateId: winnerId, force: false });
    return {};
  } catch (error) {
    if (!(error instanceof ConflictError || error instanceof NotFoundError)) throw error;
    return { warning: { code: error.code, message: `The winner was not applied. ${error.message}` } };
  }
}
