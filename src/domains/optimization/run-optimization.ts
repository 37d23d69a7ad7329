import { setMaxListeners } from 'node:events';
import { StatementTooSlowError, UnavailableError } from '../../lib/errors.ts';
import type { ProjectId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { inTransaction } from '../../stores/postgres/transaction.ts';
import type { Logger } from '../../telemetry/logger.ts';
import type { BudgetGuard } from '../budgets/index.ts';
import type { OverrideCache, PriceTable } from '../pricing/index.ts';
import { type Decision, type Optimize, RunFailed } from '../prompt-search/index.ts';
import type { PromptContent } from '../prompts/index.ts';
import type { PartSource } from '../rendering/index.ts';
import type { Item, ItemCache } from '../versioned/index.ts';
import { findProjectScope } from '../workspaces/index.ts';
import { Caller } from './call-model.ts';
import { callPrices } from './call-prices.ts';
import { candidateTexts, textOf } from './candidate-texts.ts';
import { createPorts } from './create-ports.ts';
import { deadlinesOf } from './deadlines.ts';
import { endRun } from './end-run.ts';
import { readJournal } from './journal-store.ts';
import { keepLease } from './keep-lease.ts';
import { Cancelled, type Lease, LeaseLost } from './lease.ts';
import { claimRun, releaseLease } from './lease-store.ts';
import { storeHoldoutReserve } from './ledger-store.ts';
import { needsPrices, unlimitedModels } from './model-prices.ts';
import { patiently } from './patiently.ts';
import { awaitStored, type RecordCallDeps, recordCall } from './record-call.ts';
import { listRows } from './row-store.ts';
import type { Run, RunWarning } from './run.ts';
import { insertRunEvents } from './run-event-store.ts';
import { RunWriter } from './run-writer.ts';
import { scoreInThread } from './score-in-thread.ts';
import { createSearchLimit } from './search-limit.ts';
import type { SendCall } from './send-call.ts';

/** Workers that may end during one run before it fails. */
const lossesMax = 5;
/** After this many attempts a run fails when a statement takes too long. Before, it goes on later. */
const slowAttemptsMax = 10;
/** So long a run waits until its calls are stored. They are within a second when the workers keep up. */
const storedMsMax = 10_000;
/** A run that is cancelled ends within 3 s, of which learning of it takes one. */
const storedMsMaxOfCancelled = 1_500;

export interface RunOptimizationDeps {
  postgres: Postgres;
  search: Optimize;
  send: SendCall;
  /** Records calls as executions. */
  calls: RecordCallDeps;
  source: PartSource;
  prompts: Pick<ItemCache<PromptContent>, 'find' | 'readVersion'>;
  prices: { table: PriceTable; overrides: OverrideCache };
  guard: BudgetGuard;
  logger: Logger;
  /** Aborted when the worker stops. */
  stopping: AbortSignal;
  /** Makes a version of the winner, when the run is to do so. */
  applyWinner: (winner: { run: Run; lease: Lease; decision: Decision }) => Promise<RunWarning | undefined>;
}

/**
 * Runs an optimization to its end, or as far as this worker gets. Does nothing if the run has ended,
 * or another worker has it.
 * @throws UnavailableError when the run must go on later
 */
export async function runOptimization(
  deps: RunOptimizationDeps,
  key: { projectId: ProjectId; runId: string },
): Promise<void> {
  const claimed = await inTransaction(deps.postgres, async (transaction) => {
    const found = await claimRun(transaction, key);
    if (found) await insertRunEvents(transaction, key, statesOf(found.run));
    return found;
  });
  if (claimed === undefined) return;
  const { run, lease } = claimed;
  const stop = new AbortController();
  // Every call in progress listens.
  setMaxListeners(0, stop.signal);
  const ended = new AbortController();
  const keeping = keepLease(deps.postgres, lease, { signal: ended.signal, stop: (reason) => stop.abort(reason) });
  const onStopping = () => stop.abort(deps.stopping.reason);
  deps.stopping.addEventListener('abort', onStopping, { once: true });
  if (deps.stopping.aborted) onStopping();
  try {
    await searchAndEnd(deps, { run, lease, signal: stop.signal });
  } catch (error) {
    await endWith(deps, claimed, reasonOf(stop.signal, error));
  } finally {
    deps.stopping.removeEventListener('abort', onStopping);
    stop.abort();
    ended.abort();
    await keeping;
  }
}

/** A later attempt was in the queue before, unless the run is to be cancelled. */
function statesOf({ attempt, state }: Run) {
  const states: Run['state'][] = attempt > 1 && state === 'running' ? ['queued', state] : [state];
  return states.map((status) => ({ type: 'state' as const, data: { status } }));
}

interface Attempt {
  run: Run;
  lease: Lease;
  signal: AbortSignal;
}

/** Why an attempt ends: what stopped it comes before the errors that follow from it. */
const reasonOf = (signal: AbortSignal, error: unknown): unknown => (signal.aborted ? signal.reason : error);

async function searchAndEnd(deps: RunOptimizationDeps, attempt: Attempt): Promise<void> {
  const { run, signal } = attempt;
  if (run.state === 'cancelling') throw new Cancelled();
  if (run.losses > lossesMax) throw new RunFailed('worker_lost', `${run.losses} workers ended during the run`);
  const { ports, writer, input, caller } = await prepare(deps, attempt);
  try {
    const decision = await deps.search(ports, input).finally(() => signal.aborted && caller.idle());
    await complete(deps, attempt, { decision, writer, callsUsed: ports.callsUsed() });
  } catch (error) {
    // A run that goes on reports it again.
    if (!(reasonOf(signal, error) instanceof UnavailableError)) await writer.flushPending(ports.callsUsed());
    throw error;
  }
}

async function complete(
  deps: RunOptimizationDeps,
  { run, lease, signal }: Attempt,
  { decision, writer, callsUsed }: { decision: Decision; writer: RunWriter; callsUsed: number },
): Promise<void> {
  await awaitCalls(deps.calls, run, { msMax: storedMsMax, signal });
  signal.throwIfAborted();
  if (run.options.apply === 'if_improved' && decision.outcome === 'improved') {
    const warning = await patiently(signal, () => deps.applyWinner({ run, lease, decision }));
    if (warning !== undefined) writer.warn(warning);
  }
  await writer.flush(callsUsed);
  await endRun(deps.postgres, lease, { state: 'completed', decision });
}

async function prepare(deps: RunOptimizationDeps, { run, lease, signal }: Attempt) {
  const { postgres, source, send } = deps;
  const { item, base } = await readBase(deps.prompts, run);
  const [project, rows, journal, overrides] = await Promise.all([
    findProjectScope(postgres, run.projectId),
    listRows(postgres, run),
    readJournal(postgres, lease),
    deps.prices.overrides.of(run),
  ]);
  if (project === undefined) throw new RunFailed('prompt_deleted', 'The project of the prompt was deleted');
  const prices = callPrices(deps.prices.table, overrides, run.createdAt);
  const unlimited = unlimitedModels(run.config, prices);
  if (unlimited.length > 0) throw new RunFailed('price_unknown', needsPrices(unlimited));
  const writer = new RunWriter({ postgres, lease, run, signal });
  const caller = new Caller({
    ...{ postgres, send, prices, lease, run, journal, signal },
    record: async (sent) => void (await recordCall(deps.calls, { ...sent, project, runId: run.id })),
    requireRoom: () => deps.calls.gate.assertRoomFor(run.workspaceId),
    limit: createSearchLimit(deps.guard, run, [item.id, item.slug, item.name]),
    deadlines: deadlinesOf(run),
  });
  const texts = candidateTexts(source, { project: run, base, picks: run.options.part_picks, signal });
  const ports = createPorts({
    ...{ run, caller, texts, prices, writer, journal, signal },
    score: scoreInThread(source.threads, run, signal),
    storeHoldoutReserve: (need) => storeHoldoutReserve(postgres, lease, need),
  });
  return { ports, caller, writer, input: { config: run.config, base: textOf(base), rows } };
}

async function readBase(
  prompts: RunOptimizationDeps['prompts'],
  run: Run,
): Promise<{ item: Item; base: PromptContent }> {
  const item = await prompts.find(run, run.promptId);
  if (item === undefined) throw new RunFailed('prompt_deleted', 'The prompt was deleted before the run started');
  return { item, base: (await prompts.readVersion(run, item, run.baseVersion)).content };
}

/**
 * Waits until the calls of a run with a limited cost are stored, before it ends and gives back what it has reserved of a
 * budget: until then, the spend that the next run is held to does not contain them.
 */
async function awaitCalls(
  calls: RecordCallDeps,
  { workspaceId, reservationId, costLimitNanoUsd }: Run,
  until: { msMax: number; signal: AbortSignal },
): Promise<void> {
  if (reservationId !== null && costLimitNanoUsd !== null) await awaitStored(calls, workspaceId, until);
}

async function endWith(
  deps: RunOptimizationDeps,
  { run, lease }: Pick<Attempt, 'run' | 'lease'>,
  error: unknown,
): Promise<void> {
  const { postgres, logger } = deps;
  if (error instanceof LeaseLost) {
    logger.warn({ run_id: lease.runId }, 'another worker has taken the optimization run');
    return;
  }
  const msMax = error instanceof Cancelled ? storedMsMaxOfCancelled : storedMsMax;
  if (!(error instanceof UnavailableError)) await awaitCalls(deps.calls, run, { msMax, signal: deps.stopping });
  if (error instanceof Cancelled) {
    await endRun(postgres, lease, { state: 'cancelled' });
    return;
  }
  if (error instanceof RunFailed) {
    await endRun(postgres, lease, { state: 'failed', error: { code: error.code, message: error.message } });
    return;
  }
  const isTooSlow = error instanceof StatementTooSlowError && run.attempt >= slowAttemptsMax;
  if (error instanceof UnavailableError && !isTooSlow) {
    await inTransaction(postgres, (transaction) => releaseLease(transaction, lease));
    throw error;
  }
  logger.error({ err: error, run_id: lease.runId }, 'an optimization run failed');
  const message = 'An internal error occurred. The log of the worker has the reason';
  await endRun(postgres, lease, { state: 'failed', error: { code: 'internal', message } });
}
