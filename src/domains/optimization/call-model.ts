import { setMaxListeners } from 'node:events';
import type { ChatResult } from '../../llm/chat.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import {
  type BudgetReason,
  type CallOutcome,
  LimitReached,
  type ModelCall,
  RunFailed,
} from '../prompt-search/index.ts';
import type { CallPrices, CallTokens, Estimate } from './call-prices.ts';
import type { Deadlines } from './deadlines.ts';
import { type Journal, readOutcome } from './journal-store.ts';
import type { Lease } from './lease.ts';
import { type Amount, type CallToReserve, reserveCall, type Settlement, settleCall } from './ledger-store.ts';
import { patiently } from './patiently.ts';
import type { CallRecord } from './record-call.ts';
import type { Run } from './run.ts';
import type { SearchLimit } from './search-limit.ts';
import type { SendCall } from './send-call.ts';

/** How often a call is sent that may have been billed without a response. */
const sendsMax = 2;
const fatalCodes: ReadonlySet<string> = new Set(['provider_auth', 'provider_model_not_found']);
const messageCharactersMax = 2_000;

export interface CallDeps {
  postgres: Postgres;
  send: SendCall;
  /** Records a request as an execution. It must be safe to run twice. */
  record: (sent: Omit<CallRecord, 'project' | 'runId'>) => Promise<void>;
  /** @throws UnavailableError or RateLimitedError while a call could not be recorded */
  requireRoom: () => Promise<void>;
  prices: CallPrices;
  lease: Lease;
  run: Run;
  journal: Journal;
  signal: AbortSignal;
  limit: SearchLimit;
  deadlines: Deadlines;
}

/** Sends calls, each at most once if it has a result. */
export class Caller {
  readonly #deps: CallDeps;
  /** Aborted when requests of a phase shall end: with the run, or when their time is over. */
  readonly #endings: Deadlines;
  /** Calls that are reserved and not settled. */
  readonly #open = new Set<Promise<void>>();
  /** The last reservation. They are made one after the other, so that each knows which calls are open. */
  #reserving: Promise<unknown> = Promise.resolve();

  constructor(deps: CallDeps) {
    this.#deps = deps;
    const { search, holdout } = deps.deadlines;
    this.#endings = { search: endingOf(deps.signal, search), holdout: endingOf(deps.signal, holdout) };
  }

  /** Resolves when no call is open. After the signal is aborted, this takes a moment. */
  async idle(): Promise<void> {
    await Promise.all(this.#open);
  }

  /**
   * Returns the outcome of a call, and what it has used: from the journal, or from the model.
   * @throws LimitReached, RunFailed, LeaseLost, and the reason of the signal
   */
  async call(call: ModelCall): Promise<{ outcome: CallOutcome; used: Amount }> {
    const { journal, lease, signal } = this.#deps;
    signal.throwIfAborted();
    const known = journal.calls.get(call.key);
    if (known?.isFinished) {
      const stored = await patiently(signal, () => readOutcome(this.#deps.postgres, lease, call.key));
      if (stored !== undefined) return { ...stored, outcome: orFatal(stored.outcome) };
    }
    if (known?.isLost) await this.#record(call, known.attempt, lostResult);
    const used: Amount = { calls: 0, tokens: 0, costNanoUsd: 0n };
    for (let sent = 1; ; sent++) {
      const attempt = (journal.calls.get(call.key)?.attempt ?? 0) + 1;
      const settled = await this.#reserve(call, attempt);
      journal.calls.set(call.key, { attempt, isFinished: false, isLost: false });
      const { outcome, billed, again } = await this.#sendOnce(call, attempt, sent).finally(settled);
      used.calls += Number(billed !== null);
      used.tokens += (billed?.inputTokens ?? 0) + (billed?.outputTokens ?? 0);
      used.costNanoUsd += billed?.costNanoUsd ?? 0n;
      if (again) continue;
      journal.calls.set(call.key, { attempt, isFinished: true, isLost: false });
      return { outcome: orFatal(outcome), used };
    }
  }

  /**
   * A call that does not fit waits for open calls, which may use less than they have reserved. Returns
   * the function that ends this one.
   */
  async #reserve(call: ModelCall, attempt: number): Promise<() => void> {
    const { prices, signal, limit, deadlines } = this.#deps;
    const { inputTokens, outputTokens, costNanoUsd } = prices.estimate(call);
    const { key, kind, phase } = call;
    const need = { key, attempt, kind, phase, inputTokens, outputTokens, costNanoUsd: costNanoUsd ?? 0n };
    for (;;) {
      await this.#awaitRoom(phase);
      signal.throwIfAborted();
      if (deadlines[phase].aborted) throw new LimitReached('duration');
      const stopped = phase === 'search' ? await limit(call) : undefined;
      if (stopped !== undefined) throw new LimitReached(stopped);
      const reserving = this.#reserving.then(() => this.#reserveNow(need));
      this.#reserving = reserving.catch(() => undefined);
      const reserved = await reserving;
      if ('settled' in reserved) return reserved.settled;
      signal.throwIfAborted();
      if (reserved.open.length === 0) throw new LimitReached(reserved.full);
      await Promise.race(reserved.open);
    }
  }

  /** Waits until calls can be recorded, or the run or the time of the phase ends. */
  async #awaitRoom(phase: ModelCall['phase']): Promise<void> {
    const ending = this.#endings[phase];
    await patiently(ending, this.#deps.requireRoom).catch((error) => {
      if (!ending.aborted) throw error;
    });
  }

  async #reserveNow(
    need: CallToReserve,
  ): Promise<{ settled: () => void } | { full: BudgetReason; open: readonly Promise<void>[] }> {
    const { postgres, lease, signal } = this.#deps;
    // Those of now: what is settled during the statement may have come too late for it.
    const open = [...this.#open];
    const full = await patiently(signal, () => reserveCall(postgres, lease, need));
    if (full !== undefined) return { full, open };
    let end: () => void = () => undefined;
    const own = new Promise<void>((resolve) => {
      end = resolve;
    });
    this.#open.add(own);
    const settled = () => {
      this.#open.delete(own);
      end();
    };
    return { settled };
  }

  async #sendOnce(call: ModelCall, attempt: number, sent: number) {
    const { postgres, lease, run, signal, send, prices, deadlines } = this.#deps;
    const reserved = prices.estimate(call);
    const result = await send({ run, call, signal: this.#endings[call.phase] });
    if (result.ok || result.mayBeBilled) await this.#record(call, attempt, result);
    if (signal.aborted && !result.ok && !result.mayBeBilled) {
      // At most once: if it fails, the call counts as spent.
      const unbilled = settlementOf(result, null, false);
      await settleCall(postgres, lease, { key: call.key, attempt }, unbilled).catch(() => undefined);
    }
    // Any other aborted call stays reserved. When the lease ends, it counts as spent.
    signal.throwIfAborted();
    const billed = billedOf(result, reserved, (tokens) => prices.priceOf(call.model, tokens));
    const isOverdue = !result.ok && deadlines[call.phase].aborted;
    const again = !result.ok && result.mayBeBilled && sent < sendsMax && !isOverdue;
    // Not final, so that a replay does not take it for an error of the row.
    const settlement = settlementOf(result, billed, !again && !isOverdue);
    await patiently(signal, () => settleCall(postgres, lease, { key: call.key, attempt }, settlement));
    if (isOverdue) throw new LimitReached('duration');
    return { outcome: outcomeOf(result, billed), billed, again };
  }

  async #record(call: ModelCall, attempt: number, result: ChatResult): Promise<void> {
    const { signal, record, prices } = this.#deps;
    const sent = { call, attempt, result, endedAtMs: Date.now(), reserved: prices.estimate(call) };
    await patiently(signal, () => record(sent));
  }
}

function endingOf(signal: AbortSignal, deadline: AbortSignal): AbortSignal {
  const ending = AbortSignal.any([signal, deadline]);
  // Every call in progress listens.
  setMaxListeners(0, ending);
  return ending;
}

/** What is known of a request whose worker ended before the response. It may have been billed. */
const lostResult: ChatResult = {
  ...{ ok: false, code: 'aborted', message: 'The worker ended before the response', mayBeBilled: true, latencyMs: 0 },
};

type Billed = Settlement['billed'];

function billedOf(result: ChatResult, reserved: Estimate, priceOf: (tokens: CallTokens) => bigint | null): Billed {
  if (result.ok) {
    const { inputTokens, outputTokens, usageEstimated } = result;
    const costNanoUsd = priceOf({ inputTokens, outputTokens });
    return { inputTokens, outputTokens, costNanoUsd, isEstimate: usageEstimated };
  }
  if (!result.mayBeBilled) return null;
  const { inputTokens, outputTokens, costNanoUsd } = reserved;
  return { inputTokens, outputTokens, costNanoUsd, isEstimate: true };
}

function settlementOf(result: ChatResult, billed: Billed, isFinal: boolean): Settlement {
  const { latencyMs } = result;
  if (result.ok) return { state: 'done', billed, isFinal, response: result.text, error: null, latencyMs };
  const error = { code: result.code, message: result.message.slice(0, messageCharactersMax) };
  return { state: 'failed', billed, isFinal, response: null, error, latencyMs };
}

function outcomeOf(result: ChatResult, billed: Billed): CallOutcome {
  if (!result.ok) return { ok: false, code: result.code, message: result.message.slice(0, messageCharactersMax) };
  const { inputTokens = 0, outputTokens = 0, costNanoUsd = null } = billed ?? {};
  const { text, latencyMs } = result;
  return { ok: true, result: { text, inputTokens, outputTokens, costNanoUsd, latencyMs } };
}

function orFatal(outcome: CallOutcome): CallOutcome {
  if (!outcome.ok && fatalCodes.has(outcome.code)) {
    throw new RunFailed(outcome.code as 'provider_auth' | 'provider_model_not_found', outcome.message);
  }
  return outcome;
}
