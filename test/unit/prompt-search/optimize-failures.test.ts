import { describe, expect, test } from 'vitest';
import { optimize } from '../../../src/domains/prompt-search/search/optimize.ts';
import {
  type CallOutcome,
  LimitReached,
  type ModelCall,
  RunFailed,
} from '../../../src/domains/prompt-search/search/ports.ts';
import { InvalidError } from '../../../src/lib/errors.ts';
import { type InputOptions, searchInput } from '../../support/simulated-model/search-input.ts';
import { simulatedPorts } from '../../support/simulated-model/simulated-ports.ts';
import { tickets } from '../../support/simulated-model/tickets.ts';

const failure: CallOutcome = { ok: false, code: 'provider_error', message: 'The server had an error. (500)' };
const reply = (text: string): CallOutcome => ({
  ok: true,
  result: { text, inputTokens: 5, outputTokens: 5, costNanoUsd: 1n, latencyMs: 1 },
});

type Intercept = (call: ModelCall, number: number) => CallOutcome | undefined;

async function run(intercept: Intercept, options: InputOptions = {}) {
  const simulated = simulatedPorts({ task: tickets, intercept, callsMax: 300 });
  const decision = await optimize(simulated.ports, searchInput(tickets, options));
  return { ...simulated, decision };
}

const judged: InputOptions = {
  config: { metrics: [{ type: 'llm_judge', options: { criteria: 'It is the right queue.', model: 'sim-judge' } }] },
};

describe('errors are not scores of 0', () => {
  test('a run whose task calls all fail ends as evaluation_failed with the message of the provider', async () => {
    const made: ModelCall[] = [];
    const failed = run((call) => {
      made.push(call);
      return failure;
    });
    await expect(failed).rejects.toMatchObject({
      code: 'evaluation_failed',
      message: expect.stringMatching(/The server had an error/),
    });
    // Three batches of five rows are enough to know.
    expect(made.length).toBeLessThanOrEqual(15);
  });

  test('a run whose metric gives no number ends as evaluation_failed, and has no score', async () => {
    const { ports, events } = simulatedPorts({ task: tickets });
    const score: typeof ports.score = async () => ({ score: Number.NaN, feedback: '' });
    const input = searchInput(tickets, { config: { metrics: [{ type: 'contains' }] } });
    await expect(optimize({ ...ports, score }, input)).rejects.toMatchObject({
      code: 'evaluation_failed',
      message: expect.stringContaining('score_not_a_number: contains gave NaN'),
    });
    const evaluations = events.flatMap((event) => (event.type === 'evaluations' ? event.evaluations : []));
    expect(evaluations.length).toBeGreaterThan(0);
    expect(evaluations.filter((each) => each.score !== null)).toEqual([]);
  });

  test('a run whose time is over before any call was answered ends as evaluation_failed', async () => {
    const failed = run(() => {
      throw new LimitReached('duration');
    });
    await expect(failed).rejects.toMatchObject({
      code: 'evaluation_failed',
      message: 'No call of the base was answered within the time of the run.',
    });
  });

  test('a proposal that is too long is kept as far as a candidate may go', async () => {
    const { events } = await run(({ kind }) =>
      kind === 'reflect' ? reply(JSON.stringify({ template: `{{ticket}} ${'long '.repeat(100_000)}` })) : undefined,
    );
    const refused = events.flatMap((event) =>
      event.type === 'candidate' && event.candidate.status === 'rejected_invalid' ? [event.candidate] : [],
    );
    expect(refused.length).toBeGreaterThan(0);
    for (const { content, rejectReason } of refused) {
      expect(rejectReason).toMatch(/tokens; at most/);
      expect(JSON.stringify(content).length).toBeLessThan(20_000);
    }
  });

  test('a judge that nobody can read ends the run in the same way, after it was asked twice', async () => {
    const kinds: string[] = [];
    const failed = run((call) => {
      kinds.push(call.kind);
      return call.kind === 'judge' ? reply('The weather is fine.') : undefined;
    }, judged);
    await expect(failed).rejects.toMatchObject({
      code: 'evaluation_failed',
      message: expect.stringMatching(/judge_reply_unusable.*weather/),
    });
    expect(kinds.filter((kind) => kind === 'judge')).toHaveLength(2 * kinds.filter((kind) => kind === 'task').length);
  });

  test('a judge that is wrong once is asked again, and the row counts', async () => {
    const asked = new Set<string>();
    const { events } = await run((call) => {
      const output = JSON.stringify([call.candidateHash, call.rowKey, call.sampleIx]);
      if (call.kind !== 'judge' || asked.has(output)) return undefined;
      asked.add(output);
      return reply('Hm.');
    }, judged);
    const evaluations = events.flatMap((event) => (event.type === 'evaluations' ? event.evaluations : []));
    expect(evaluations.filter(({ error }) => error !== null)).toEqual([]);
  });

  test('few rows with errors are left out of every mean', async () => {
    const { decision, events } = await run(({ kind }, number) =>
      kind === 'task' && number % 25 === 0 ? failure : undefined,
    );
    const evaluations = events.flatMap((event) => (event.type === 'evaluations' ? event.evaluations : []));
    expect(evaluations.some(({ error, score }) => error !== null && score === null)).toBe(true);
    expect(evaluations.every(({ error, score }) => (error === null) === (score !== null))).toBe(true);
    expect(decision.outcome).toBe('improved');
    expect(decision.score?.n).toBeLessThan(30);
    expect(events).toContainEqual(expect.objectContaining({ type: 'warning', code: 'holdout_incomplete' }));
  });

  test('an improvement is not claimed if many rows of the holdout have no pair', async () => {
    const { decision } = await run(
      ({ phase }, number) => (phase === 'holdout' && number % 4 === 0 ? failure : undefined),
      {
        rows: { train: 48, val: 20, holdout: 60 },
      },
    );
    expect(decision.score?.n).toBeGreaterThanOrEqual(20);
    expect(decision.score?.delta.ci95[0]).toBeGreaterThan(0);
    expect(decision.outcome).toBe('inconclusive');
  });

  test('a holdout of errors alone is no result', async () => {
    const failed = run(({ phase }) => (phase === 'holdout' ? failure : undefined));
    await expect(failed).rejects.toMatchObject({ code: 'evaluation_failed' });
  });
});

test('a row that cannot be rendered has an error and is left out', async () => {
  const { ports, events } = simulatedPorts({ task: tickets, callsMax: 300 });
  const input = searchInput(tickets);
  const broken = input.rows.find(({ split }) => split === 'holdout')?.inputs;
  const render: typeof ports.render = async (content, inputs) => {
    if (inputs === broken) throw new InvalidError('template_limit', 'The text is too long');
    return ports.render(content, inputs);
  };
  const decision = await optimize({ ...ports, render }, input);
  expect(decision).toMatchObject({ outcome: 'improved', score: { n: 29 } });
  expect(events).toContainEqual(
    expect.objectContaining({ code: 'holdout_incomplete', message: expect.stringMatching(/render_failed.*too long/) }),
  );
});

describe('proposals that fail', () => {
  test('three times in a row end the run with the message of the provider', async () => {
    let asked = 0;
    const failed = run(({ kind }) => {
      if (kind !== 'reflect') return undefined;
      asked++;
      return failure;
    });
    await expect(failed).rejects.toMatchObject({
      code: 'reflection_failed',
      message: expect.stringMatching(/provider_error: The server had/),
    });
    expect(asked).toBe(6);
  });

  test('are counted when they cannot be read', async () => {
    const failed = run(({ kind }) => (kind === 'reflect' ? reply('I cannot help with that.') : undefined));
    await expect(failed).rejects.toMatchObject({
      code: 'reflection_failed',
      message: expect.stringMatching(/not JSON with a template/),
    });
  });

  test('do not end the run when the guard refuses them, or a readable one comes between', async () => {
    let asked = 0;
    const { decision } = await run(({ kind }) => {
      if (kind !== 'reflect') return undefined;
      return asked++ % 3 === 0 ? reply(`{"template":"Without it ${asked}"}`) : failure;
    });
    expect(decision.outcome).toBe('no_improvement');
  });

  test('because of response_format are asked for again without it, and so are all later ones', async () => {
    const asked: boolean[] = [];
    const { decision } = await run(({ kind, params }) => {
      if (kind !== 'reflect') return undefined;
      const hasFormat = params.response_format !== undefined;
      asked.push(hasFormat);
      return hasFormat ? { ok: false, code: 'provider_refused', message: 'response_format is unknown' } : undefined;
    });
    expect(decision.outcome).toBe('improved');
    expect(asked.slice(0, 2)).toEqual([true, false]);
    expect(asked.slice(2)).not.toContain(true);
  });
});

describe('a failure that ends the run', () => {
  test('reaches the caller as it is, with no call after it', async () => {
    const simulated = simulatedPorts({ task: tickets, callsMax: 300 });
    const { call } = simulated.ports;
    let begun = 0;
    const fatal: typeof call = async (made) => {
      if (++begun === 30) throw new RunFailed('provider_auth', 'Incorrect API key provided.');
      return call(made);
    };
    const failed = optimize({ ...simulated.ports, call: fatal }, searchInput(tickets, { search: { concurrency: 1 } }));
    await expect(failed).rejects.toMatchObject({ code: 'provider_auth' });
    expect(begun).toBe(30);
  });

  test('is the reason of the signal when the run is cancelled', async () => {
    const stop = new AbortController();
    const reason = new Error('cancelled');
    const simulated = simulatedPorts({
      ...{ task: tickets, callsMax: 300, signal: stop.signal },
      intercept: (_, number) => {
        if (number === 40) stop.abort(reason);
        return undefined;
      },
    });
    await expect(optimize(simulated.ports, searchInput(tickets))).rejects.toBe(reason);
    expect(simulated.calls.length).toBeLessThanOrEqual(40);
  });
});
