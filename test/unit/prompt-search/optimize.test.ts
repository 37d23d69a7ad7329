import { describe, expect, test } from 'vitest';
import { optimize } from '../../../src/domains/prompt-search/search/optimize.ts';
import type { CandidateContent, SearchEvent, SearchInput } from '../../../src/domains/prompt-search/search/ports.ts';
import { type InputOptions, searchInput } from '../../support/simulated-model/search-input.ts';
import { type SimulatedPortsOptions, simulatedPorts } from '../../support/simulated-model/simulated-ports.ts';
import { perfectTemplate, type SimulatedTask } from '../../support/simulated-model/simulated-task.ts';
import { tickets, ticketsByChance } from '../../support/simulated-model/tickets.ts';

async function run<F>(
  task: SimulatedTask<F>,
  options: InputOptions = {},
  simulation: Partial<SimulatedPortsOptions<F>> = {},
) {
  const input = searchInput(task, options);
  const callsMax = input.config.budget.maxCalls ?? Number.POSITIVE_INFINITY;
  const simulated = simulatedPorts({ task, seed: 1, callsMax, ...simulation });
  const decision = await optimize(simulated.ports, input);
  return { ...simulated, input, decision };
}

function candidatesOf(events: readonly SearchEvent[]) {
  return events.flatMap((event) => (event.type === 'candidate' ? [event.candidate] : []));
}

const rowTexts = ({ rows }: SearchInput, split: string) =>
  rows.filter((row) => row.split === split).map(({ inputs }) => String(inputs.ticket));

describe('a search over a task with hidden rules', () => {
  test.each([1, 2, 3, 4, 5])('finds them and proves it on the holdout, with seed %i', async (seed) => {
    const { decision, calls } = await run(tickets, { config: { seed }, rowSeed: seed });
    expect(decision.outcome).toBe('improved');
    expect(decision.score).toMatchObject({ split: 'holdout', n: 30 });
    expect(decision.score?.best.mean).toBeGreaterThanOrEqual(0.9);
    expect(decision.score?.delta.ci95[0]).toBeGreaterThan(0);
    expect(decision.score?.delta.p).toBeLessThanOrEqual(0.05);
    expect(calls.length).toBeLessThanOrEqual(300);
  });

  test.each([
    ['contains, whose scores may be shares', [{ type: 'contains' }], 1],
    ['two metrics', [{ type: 'exact_match' }, { type: 'exact_match', options: { ignore_case: true } }], 1],
    ['two samples a row', [{ type: 'exact_match' }], 2],
  ])('whose scores are all 0 or 1, with %s, asks McNemar', async (_, metrics, samplesPerRow) => {
    const { config } = searchInput(tickets);
    const target = { ...config.target, samplesPerRow };
    const { decision } = await run({ ...tickets, noise: 0 }, { config: { metrics, target }, callsMax: 600 });
    expect(decision.score?.split).toBe('holdout');
    expect(decision.score?.delta.p).toEqual(expect.any(Number));
  });

  test('reports what the winner costs, and a frontier that has it', async () => {
    const { decision, events } = await run(tickets);
    expect(decision.delta.promptTokens?.mean).toBeGreaterThan(0);
    expect(decision.delta.costPer1kCallsUsd?.mean).toBeGreaterThan(0);
    expect(decision.delta.latencyMsP50).toBeGreaterThan(0);
    expect(decision.frontier.map(({ candidateId }) => candidateId)).toContain(decision.winnerId);
    const pool = candidatesOf(events).filter(({ status }) => status === 'pool');
    const ids = pool.map(({ id }) => id);
    expect(ids).toEqual(expect.arrayContaining(decision.frontier.map(({ candidateId }) => candidateId)));
  });

  test.each(['meta_prompt', 'few_shot'] as const)('improves by %s as well', async (algorithm) => {
    const { decision, events } = await run(tickets, { config: { algorithm }, callsMax: 400 });
    expect(decision.outcome).toBe('improved');
    const origin = candidatesOf(events).find(({ id }) => id === decision.winnerId)?.origin;
    expect(origin).toBe(algorithm === 'few_shot' ? 'demo' : 'meta');
  });

  test('changes one message of a chat at a time, and keeps roles and order', async () => {
    const base: CandidateContent = {
      type: 'chat',
      messages: [
        { role: 'system', content: 'You sort tickets.' },
        { role: 'user', content: tickets.seedTemplate },
      ],
    };
    const { decision, events } = await run(tickets, { base, callsMax: 400 });
    expect(decision.outcome).toBe('improved');
    for (const { content } of candidatesOf(events)) {
      if (content.type !== 'chat') throw new Error('The candidate is no chat');
      expect(content.messages.map((each) => ('role' in each ? each.role : each.placeholder))).toEqual([
        'system',
        'user',
      ]);
    }
  });
});

describe('what a search shows to whom', () => {
  test('no validation row and no row of the holdout is in a request for a proposal', async () => {
    const { calls, input } = await run(tickets);
    const hidden = [...rowTexts(input, 'val'), ...rowTexts(input, 'holdout')];
    const asked = calls.filter(({ kind }) => kind === 'reflect').map(({ messages }) => JSON.stringify(messages));
    expect(asked.length).toBeGreaterThan(0);
    expect(asked.filter((request) => hidden.some((row) => request.includes(row)))).toEqual([]);
    expect(asked.every((request) => rowTexts(input, 'train').some((row) => request.includes(row)))).toBe(true);
  });

  test('base and winner alone are run on the holdout, on each row once, and after everything else', async () => {
    const { calls, decision, events, input } = await run(tickets);
    const holdout = new Set(input.rows.filter(({ split }) => split === 'holdout').map(({ key }) => key));
    const touched = calls.filter(({ rowKey }) => rowKey !== undefined && holdout.has(rowKey));
    const winner = candidatesOf(events).find(({ id }) => id === decision.winnerId)?.hash;
    const [seed] = candidatesOf(events);
    expect(new Set(touched.map(({ candidateHash }) => candidateHash))).toEqual(new Set([seed?.hash, winner]));
    expect(new Set(touched.map(({ key }) => key)).size).toBe(2 * holdout.size);
    expect(touched).toHaveLength(2 * holdout.size);
    expect(calls.slice(-touched.length)).toEqual(touched);
  });

  test('no candidate that is evaluated has lost or gained a variable', async () => {
    const runs = await Promise.all([1, 2, 3, 4].map((seed) => run(tickets, { config: { seed } }, { seed })));
    const all = runs.flatMap(({ events }) => candidatesOf(events));
    const refused = all.filter(({ rejectReason }) => /variable/.test(rejectReason ?? ''));
    expect(refused.length).toBeGreaterThan(0);
    const templates = all
      .filter(({ status }) => status !== 'rejected_invalid')
      .map(({ content }) => (content.type === 'text' ? content.template : ''));
    expect(
      templates.filter((template) => !template.includes('{{ticket}}') || template.includes('{{context}}')),
    ).toEqual([]);
  });
});

describe('a search where nothing can be better', () => {
  test('ends at once if the base is perfect on all validation rows', async () => {
    const task = { ...tickets, noise: 0, seedTemplate: perfectTemplate(tickets) };
    const { decision, calls } = await run(task);
    expect(decision).toMatchObject({ outcome: 'already_optimal', finishReason: 'perfect' });
    expect(decision.score).toMatchObject({ split: 'val', n: 15, delta: { mean: 0, ci95: [0, 0] } });
    expect(calls).toHaveLength(15);
  });

  test('does not claim an improvement when scores are a matter of chance', async () => {
    const outcomes: string[] = [];
    for (let seed = 1; seed <= 12; seed++) {
      const { decision } = await run(ticketsByChance, { config: { seed }, rowSeed: seed }, { seed });
      outcomes.push(decision.outcome);
    }
    expect(outcomes.filter((outcome) => outcome === 'improved').length).toBeLessThanOrEqual(1);
  });

  test('runs the base on the holdout when it wins', async () => {
    const lost = () => ({ ok: true, result: { ...cheap, text: '{"template":"No variable"}' } }) as const;
    const { decision, calls } = await run(
      tickets,
      {},
      { intercept: ({ kind }) => (kind === 'reflect' ? lost() : undefined) },
    );
    expect(decision).toMatchObject({
      outcome: 'no_improvement',
      score: { split: 'holdout', n: 30, delta: { mean: 0 } },
    });
    expect(calls.filter(({ phase }) => phase === 'holdout')).toHaveLength(30);
  });
});

const cheap = { inputTokens: 1, outputTokens: 1, costNanoUsd: null, latencyMs: 1 };

describe('a search over few rows', () => {
  const rows = { train: 7, val: 5, holdout: 0 };

  test('decides nothing, whatever it finds', async () => {
    const { decision } = await run(tickets, { rows });
    expect(decision).toMatchObject({ outcome: 'inconclusive', score: null });
    expect(decision.frontier.length).toBeGreaterThan(0);
  });

  test('says that there is no improvement if the base wins', async () => {
    const { decision } = await run(tickets, { rows, callsMax: 8 });
    expect(decision).toMatchObject({ outcome: 'no_improvement', finishReason: 'budget_calls', score: null });
  });

  test('is inconclusive with fewer than 20 rows in the holdout', async () => {
    const { decision } = await run(tickets, { rows: { train: 40, val: 15, holdout: 19 } });
    expect(decision).toMatchObject({ outcome: 'inconclusive', score: { n: 19 } });
    expect(decision.score?.delta.ci95[0]).toBeGreaterThan(0);
  });
});

describe('two searches', () => {
  const history = (events: readonly SearchEvent[]) =>
    JSON.stringify(events, (_, value) => (typeof value === 'bigint' ? `${value}` : value));

  test('with the same seed have the same history, whatever the order in which calls end', async () => {
    const [one, other] = [await run(tickets), simulatedPorts({ task: tickets, seed: 1, callsMax: 300 })];
    let turn = 0;
    const { call } = other.ports;
    const late: typeof call = async (made) => {
      const outcome = await call(made);
      for (let left = turn++ % 7; left > 0; left--) await new Promise(setImmediate);
      return outcome;
    };
    const decision = await optimize({ ...other.ports, call: late }, searchInput(tickets));
    expect(decision).toEqual(one.decision);
    expect(history(other.events)).toBe(history(one.events));
  });

  test('with different seeds differ', async () => {
    const [one, other] = [await run(tickets), await run(tickets, { config: { seed: 2 } })];
    expect(history(one.events)).not.toBe(history(other.events));
  });

  test('make calls whose keys are unique', async () => {
    const { calls } = await run(tickets, {
      config: { metrics: [{ type: 'llm_judge', options: { criteria: 'It is right.', model: 'sim-judge' } }] },
    });
    expect(new Set(calls.map(({ key }) => key)).size).toBe(calls.length);
    expect(calls.some(({ kind }) => kind === 'judge')).toBe(true);
  });
});
