import { unlessAborted } from '../../lib/unless-aborted.ts';
import type { Remaining, SearchPorts } from '../prompt-search/index.ts';
import type { Caller } from './call-model.ts';
import type { CallPrices } from './call-prices.ts';
import type { candidateTexts } from './candidate-texts.ts';
import type { Journal } from './journal-store.ts';
import type { Amount } from './ledger-store.ts';
import { patiently } from './patiently.ts';
import { callsMax, type Run } from './run.ts';
import type { RunWriter } from './run-writer.ts';

export interface PortDeps {
  run: Run;
  caller: Pick<Caller, 'call'>;
  texts: ReturnType<typeof candidateTexts>;
  prices: CallPrices;
  writer: Pick<RunWriter, 'note'>;
  journal: Journal;
  score: SearchPorts['score'];
  signal: AbortSignal;
  /** Keeps an amount for the final evaluation in the ledger. */
  storeHoldoutReserve: (need: Amount) => Promise<void>;
}

/**
 * Returns the ports of one attempt of a run. What is left is counted over the calls that this attempt
 * has made or found in the journal, so it is the same at the same place of every replay.
 */
export function createPorts(deps: PortDeps): SearchPorts & { callsUsed: () => number } {
  const { run, caller, texts, prices, writer, score, signal } = deps;
  const limits = limitsOf(run);
  const spent = { ...deps.journal.lost };
  let kept: Amount = { calls: 0, tokens: 0, costNanoUsd: 0n };
  let reserving: Promise<void> | undefined;
  return {
    render: (content, inputs) => patiently(signal, () => unlessAborted(signal, texts.render(content, inputs))),
    analyze: (content) => patiently(signal, () => unlessAborted(signal, texts.analyze(content))),
    score,
    signal,
    callsUsed: () => spent.calls,
    async call(call) {
      await reserving;
      const { outcome, used } = await caller.call(call);
      add(spent, used);
      // The final evaluation uses what was kept for it.
      if (call.phase === 'holdout') kept = lessOf(kept, used);
      return outcome;
    },
    remaining: (phase) => leftOf(limits, spent, phase === 'search' ? kept : none),
    reserveHoldout(need) {
      kept = { ...need, costNanoUsd: need.costNanoUsd ?? 0n };
      reserving = deps.storeHoldoutReserve(kept);
      // `call` reports its error.
      reserving.catch(() => undefined);
    },
    estimate: (call) => prices.estimate(call),
    emit: (event) => writer.note(event, spent.calls),
  };
}

const none: Amount = { calls: 0, tokens: 0, costNanoUsd: 0n };

interface Limits {
  calls: number;
  tokens: number;
  costNanoUsd: bigint | null;
}

function limitsOf({ config: { budget }, costLimitNanoUsd }: Run): Limits {
  return {
    calls: budget.maxCalls ?? callsMax,
    tokens: budget.maxTokens ?? Number.POSITIVE_INFINITY,
    // With nothing to spend, the ledger refuses calls that cost something, and others go on.
    costNanoUsd: costLimitNanoUsd === 0n ? null : costLimitNanoUsd,
  };
}

function leftOf(limits: Limits, spent: Amount, kept: Amount): Remaining {
  const cost = limits.costNanoUsd === null ? null : limits.costNanoUsd - spent.costNanoUsd - kept.costNanoUsd;
  return {
    calls: Math.max(0, limits.calls - spent.calls - kept.calls),
    tokens: Math.max(0, limits.tokens - spent.tokens - kept.tokens),
    costNanoUsd: cost === null ? null : cost > 0n ? cost : 0n,
  };
}

function add(sum: Amount, { calls, tokens, costNanoUsd }: Amount): void {
  sum.calls += calls;
  sum.tokens += tokens;
  sum.costNanoUsd += costNanoUsd;
}

function lessOf(kept: Amount, used: Amount): Amount {
  const cost = kept.costNanoUsd - used.costNanoUsd;
  return {
    calls: Math.max(0, kept.calls - used.calls),
    tokens: Math.max(0, kept.tokens - used.tokens),
    costNanoUsd: cost > 0n ? cost : 0n,
  };
}
