import { setTimeout as delay } from 'node:timers/promises';
import type { ChatResult } from '../../llm/chat.ts';
import type { BodyPublisher } from '../../queue/body-publisher.ts';
import { type QueueGate, type StoreCallDeps, storeCall } from '../ingestion/index.ts';
import type { ModelCall } from '../prompt-search/index.ts';
import type { ProjectScope } from '../workspaces/index.ts';

export interface RecordCallDeps extends StoreCallDeps {
  publisher: Pick<BodyPublisher, 'publish' | 'oldestUnfinishedAtMs'>;
  gate: Pick<QueueGate, 'assertRoomFor' | 'noteBacklog'>;
}

/** A request of a run that may have been billed, and what became of it. */
export interface CallRecord {
  project: ProjectScope;
  runId: string;
  /** Numbers the requests of one call, which is sent again if a crash or a timeout lost its response. */
  attempt: number;
  call: ModelCall;
  result: ChatResult;
  /** When the request ended, in ms since the epoch. */
  endedAtMs: number;
  /** What the request counts with if no response told it. */
  reserved: { inputTokens: number; outputTokens: number };
}

/**
 * Records a request as an execution of the project with `promptlane.metadata.source=optimization`.
 * It has a price and counts in spend and budgets, but not in the analytics of the prompt, because
 * it names no prompt. Call it before the result is journaled: a repeat replaces the execution, and
 * a crash in between loses none. Returns the trace id.
 * @throws UnavailableError when it could not be queued
 */
export async function recordCall(
  deps: RecordCallDeps,
  { project, runId, attempt, call, result, endedAtMs, reserved }: CallRecord,
): Promise<string> {
  const { ok, latencyMs } = result;
  return storeCall(deps, {
    project,
    identity: [runId, call.key, attempt],
    call: {
      name: `optimization ${call.kind}`,
      model: call.model,
      messages: call.messages,
      output: ok ? result.text : null,
      error: ok ? null : { type: result.code, message: result.message },
      startedAtMs: endedAtMs - latencyMs,
      endedAtMs,
      usage: ok ? result : reserved,
      tags: ['optimization'],
      metadata: {
        source: 'optimization',
        optimization_run_id: runId,
        optimization_call: call.kind,
        optimization_phase: call.phase,
        ...((!ok || result.usageEstimated) && { optimization_usage: 'estimated' }),
        ...(call.candidateHash !== undefined && { optimization_candidate: call.candidateHash }),
      },
    },
  });
}

const storedPollMs = 100;

/**
 * Waits until the calls that were recorded are stored, so that the spend of budgets has them: at most for `msMax`, until
 * the signal is aborted, and not while the queue cannot be asked.
 */
export async function awaitStored(
  { publisher, clock }: Pick<RecordCallDeps, 'publisher' | 'clock'>,
  workspaceId: string,
  { msMax, signal }: { msMax: number; signal: AbortSignal },
): Promise<void> {
  const recordedAtMs = clock.nowMs();
  const untilMs = performance.now() + msMax;
  const isStored = () =>
    publisher.oldestUnfinishedAtMs(workspaceId).then(
      (atMs) => atMs === undefined || atMs > recordedAtMs,
      (error: unknown) => !(error instanceof RangeError),
    );
  while (!signal.aborted && performance.now() < untilMs && !(await isStored())) await delay(storedPollMs);
}
