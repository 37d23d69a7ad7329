import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ModelCall, PlannedCall } from '../../../src/domains/prompt-search/index.ts';
import { optimize } from '../../../src/domains/prompt-search/search/optimize.ts';
import { countTurns } from '../../support/count-turns.ts';
import { searchInput } from '../../support/simulated-model/search-input.ts';
import { simulatedPorts } from '../../support/simulated-model/simulated-ports.ts';
import { tickets } from '../../support/simulated-model/tickets.ts';

const rows = { train: 30, val: 10, holdout: 22 };
const algorithms = ['reflective', 'meta_prompt', 'few_shot'] as const;

describe('a search that reaches its limit', () => {
  test('at any call ends in a decision on the whole holdout, within the limit, and keeps what it paid for', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 2 * rows.holdout, max: 220 }),
        fc.integer({ min: 1, max: 1_000 }),
        fc.constantFrom(...algorithms),
        fc.constantFrom(1, 3, 8),
        async (callsMax, seed, algorithm, concurrency) => {
          const { ports, calls, events } = simulatedPorts({ task: tickets, seed, callsMax });
          const given = { rows, config: { seed, algorithm }, search: { concurrency }, callsMax };
          const decision = await optimize(ports, searchInput(tickets, given));
          expect(calls.length).toBeLessThanOrEqual(callsMax);
          if (decision.outcome === 'already_optimal') return;
          expect(decision.score).toMatchObject({ split: 'holdout', n: rows.holdout });
          const scored = events.flatMap((event) => (event.type === 'evaluations' ? event.evaluations : []));
          expect(scored).toHaveLength(calls.filter(({ kind }) => kind === 'task').length);
          const last = new Map(
            events.flatMap((each) => (each.type === 'candidate' ? [[each.candidate.hash, each.candidate]] : [])),
          );
          // Every candidate that was run has a status that says so.
          const run = new Set(scored.map(({ candidateHash }) => candidateHash));
          const lost = [...last.values()].filter(({ hash, status }) => run.has(hash) && status === 'rejected_invalid');
          expect(lost.filter(({ rejectReason }) => rejectReason !== 'It was tried before.')).toEqual([]);
        },
      ),
      { numRuns: 25 },
    );
  });

  test('of tokens keeps at most half of them for the holdout, and searches with the rest', async () => {
    const { ports, calls, events } = simulatedPorts({ task: tickets, tokensMax: 12_000 });
    const decision = await optimize(ports, searchInput(tickets, { rows, callsMax: null }));
    expect(decision.finishReason).toBe('budget_tokens');
    expect(decision.score?.n).toBe(rows.holdout);
    expect(calls.some(({ kind }) => kind === 'reflect')).toBe(true);
    expect(events.some((event) => event.type === 'score')).toBe(true);
  });

  test('before the base was run on one row still runs it on the holdout', async () => {
    const { ports, calls } = simulatedPorts({ task: tickets, callsMax: 2 * rows.holdout });
    const decision = await optimize(ports, searchInput(tickets, { rows }));
    expect(decision).toMatchObject({
      outcome: 'no_improvement',
      finishReason: 'budget_calls',
      score: { n: rows.holdout },
    });
    expect(calls).toHaveLength(rows.holdout);
  });

  test('reserves the calls of judges and samples as well', async () => {
    const { ports, reserved } = simulatedPorts({ task: tickets, callsMax: 100 });
    const input = searchInput(tickets, { rows });
    const metrics = [
      { type: 'exact_match' },
      { type: 'llm_judge', options: { criteria: 'It is right.', model: 'sim-judge' } },
    ];
    let kept = 0;
    const noting = {
      ...ports,
      reserveHoldout: (need: Parameters<typeof ports.reserveHoldout>[0]) => {
        kept = need.calls;
        ports.reserveHoldout(need);
      },
    };
    const { target } = input.config;
    await optimize(noting, { ...input, config: { ...input.config, metrics, target: { ...target, samplesPerRow: 2 } } });
    expect(kept).toBe(2 * rows.holdout * 2 * 2);
    expect(reserved().calls).toBeLessThan(kept);
  });

  test('reserves for the longest output of a judge without making such a text', async () => {
    const grade = { text: '{"score": 5}', inputTokens: 9, outputTokens: 9, costNanoUsd: 0n, latencyMs: 9 };
    const intercept = ({ kind }: ModelCall) => (kind === 'judge' ? { ok: true as const, result: grade } : undefined);
    const { ports } = simulatedPorts({ task: tickets, intercept });
    const planned: PlannedCall[] = [];
    const estimate: typeof ports.estimate = (call) => {
      planned.push(call);
      return ports.estimate(call);
    };
    const params = { max_tokens: 128_000 };
    const metrics = [{ type: 'llm_judge', options: { criteria: 'It is right.', model: 'sim-judge' } }];
    const input = searchInput(tickets, { rows, config: { metrics } });
    const target = { ...input.config.target, params };
    await optimize({ ...ports, estimate }, { ...input, config: { ...input.config, target } });
    expect(planned.filter(({ addedBytes }) => addedBytes === 4 * params.max_tokens)).toHaveLength(rows.holdout);
    for (const { messages } of planned) expect(JSON.stringify(messages).length).toBeLessThan(10_000);
  });

  test('reserves for long rows with many judges in slices, between which other work runs', async () => {
    const { ports } = simulatedPorts({ task: tickets });
    const judge = { type: 'llm_judge', options: { criteria: 'It is right.', model: 'sim-judge' } };
    const input = searchInput(tickets, { rows, config: { metrics: Array(10).fill(judge) } });
    const long = input.rows.map((row) => ({ ...row, inputs: { ...row.inputs, more: 'x'.repeat(1_000_000) } }));
    const reserved = new Error('reserved');
    const reserveHoldout = () => {
      throw reserved;
    };
    const { turns } = await countTurns(() =>
      expect(optimize({ ...ports, reserveHoldout }, { ...input, rows: long })).rejects.toBe(reserved),
    );
    expect(turns).toBeGreaterThan(rows.holdout);
  });
});

test.each([
  [{ maxIterations: 2 }, 'max_iterations'],
  [{ patience: 1 }, 'patience'],
  [{ targetScore: 0.5 }, 'target_score'],
])('a search with %j ends by that limit', async (search, reason) => {
  const { ports } = simulatedPorts({ task: tickets, seed: 3 });
  const decision = await optimize(ports, searchInput(tickets, { search, callsMax: null }));
  expect(decision.finishReason).toBe(reason);
  expect(decision.score?.split).toBe('holdout');
});

test('a search whose candidates are all as good as the base keeps 500 of them, the base among them, in little time', async () => {
  const { ports, events } = simulatedPorts({
    task: tickets,
    callsMax: 1_500,
    // The longer a prompt, the sooner it is answered, so hardly one is better than another.
    intercept: ({ messages }) => {
      const latencyMs = 100_000 - (messages[0]?.content.length ?? 0);
      return { ok: true, result: { text: 'none', inputTokens: 1, outputTokens: 1, costNanoUsd: null, latencyMs } };
    },
  });
  const search = { valSize: 1, patience: 10_000, maxIterations: 10_000 };
  const given = { rows: { train: 900, val: 1, holdout: 22 }, config: { algorithm: 'few_shot' } as const };
  const decision = await optimize(ports, searchInput(tickets, { ...given, search, callsMax: 1_500 }));
  const pool = events.flatMap((event) => (event.type === 'candidate' ? [event.candidate] : []));
  expect(pool.filter(({ status }) => status === 'pool').length).toBeGreaterThan(1_000);
  expect(decision.frontier.length).toBeGreaterThan(300);
  expect(decision.frontier.length).toBeLessThanOrEqual(500);
  expect(decision.frontier[0]?.candidateId).toBe(pool[0]?.id);
  expect(decision.winnerId).toBe(pool[0]?.id);
});

describe('a search that makes no calls for many iterations', () => {
  test('of examples ends after 25 rounds without a candidate, and other work runs between two candidates', async () => {
    const { ports, events } = simulatedPorts({ task: tickets });
    const search = { patience: 10_000, maxIterations: 100 };
    const input = searchInput(tickets, { rows, config: { algorithm: 'few_shot' }, search, callsMax: null });
    const long = input.rows.map((row) => (row.split === 'train' ? { ...row, expected: 'x'.repeat(4_000) } : row));
    const { result, turns } = await countTurns(() => optimize(ports, { ...input, rows: long }));
    expect(result.finishReason).toBe('patience');
    expect(events).toContainEqual(expect.objectContaining({ type: 'warning', code: 'no_candidates' }));
    expect(turns).toBeGreaterThan(25 * 8);
  });

  test.each(['reflective', 'meta_prompt'] as const)('%s lets other work run in each', async (algorithm) => {
    const input = searchInput(tickets, {
      ...{ rows, config: { algorithm }, search: { patience: 10_000, maxIterations: 600 }, callsMax: null },
    });
    const byKey = new Map(input.rows.map((row) => [row.key, row]));
    const { ports, calls } = simulatedPorts({
      task: tickets,
      intercept: ({ rowKey = '' }) => {
        const row = byKey.get(rowKey);
        const text = row?.split === 'train' ? String(row.expected) : 'none';
        return { ok: true, result: { text, inputTokens: 1, outputTokens: 1, costNanoUsd: null, latencyMs: 1 } };
      },
    });
    const { result, turns } = await countTurns(() => optimize(ports, input));
    expect(result.finishReason).toBe('max_iterations');
    expect(calls.length).toBeLessThan(100);
    expect(turns).toBeGreaterThan(600);
  });
});
