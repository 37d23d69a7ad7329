import { describe, expect, test } from 'vitest';
import { prepareMetrics } from '../../../src/domains/prompt-search/metrics/combine-scores.ts';
import { Evaluator } from '../../../src/domains/prompt-search/search/evaluator.ts';
import type { MetricConfig } from '../../../src/domains/prompt-search/search/search-config.ts';
import { searchInput } from '../../support/simulated-model/search-input.ts';
import { simulatedPorts } from '../../support/simulated-model/simulated-ports.ts';
import { tickets } from '../../support/simulated-model/tickets.ts';

const candidate = { hash: 'a', content: { type: 'text', template: 'Sort {{ticket}}' } } as const;
/** Texts of 900 outputs with as many characters as a response can have. */
const sizes = { train: 900, val: 1 };
const outputOf = (key = '') => `${key} ${'x'.repeat(131_000)}`;

async function evaluated() {
  const { ports, events } = simulatedPorts({
    task: tickets,
    intercept: ({ rowKey }) => ({
      ok: true,
      result: { text: outputOf(rowKey), inputTokens: 1, outputTokens: 1, costNanoUsd: null, latencyMs: 1 },
    }),
  });
  const { config, rows } = searchInput(tickets, { rows: sizes });
  const metrics = prepareMetrics(config.metrics);
  const evaluator = new Evaluator({ ports, target: config.target, metrics, concurrency: 8 });
  await evaluator.evaluate(candidate, rows);
  const textsOf = (row: number) => {
    const [known] = evaluator.samplesOf(candidate.hash, rows[row]?.key ?? '');
    if (known === undefined) throw new Error(`The row ${row} was not evaluated`);
    return evaluator.textsOf(known);
  };
  return { rows, textsOf, events };
}

describe('outputs of the longest responses', () => {
  test('are kept as far as a proposing model sees them, of training rows, and the newest', async () => {
    const { rows, textsOf } = await evaluated();
    const kept = textsOf(sizes.train - 1);
    expect(kept.output).toBe(`${outputOf(rows[sizes.train - 1]?.key).slice(0, 40_000)}…`);
    expect(kept.feedback).toMatch(/^Expected/);
    const forgotten = { output: '…', feedback: '' };
    expect(textsOf(0)).toEqual(forgotten);
    expect(rows.at(-1)?.split).toBe('val');
    expect(textsOf(sizes.train)).toEqual(forgotten);
  });

  test('are reported 256 at once', async () => {
    const { events } = await evaluated();
    const counts = events.map((event) => (event.type === 'evaluations' ? event.evaluations.length : 0));
    expect(counts).toEqual([256, 256, 256, 133]);
  });
});

describe('outputs that all come at once', () => {
  const result = { text: 'none', inputTokens: 1, outputTokens: 1, costNanoUsd: null, latencyMs: 1 };

  /** Scores the outputs of 64 rows that have this expected value. Returns what was scored apart, and the scores. */
  async function scored(metric: MetricConfig, expected: unknown) {
    const apart: MetricConfig[] = [];
    const { ports } = simulatedPorts({ task: tickets, intercept: () => ({ ok: true, result }) });
    const score: typeof ports.score = (config, input) => {
      apart.push(config);
      return ports.score(config, input);
    };
    const { config, rows } = searchInput(tickets, { rows: { train: 64 } });
    const metrics = prepareMetrics([metric]);
    const evaluator = new Evaluator({ ports: { ...ports, score }, target: config.target, metrics, concurrency: 32 });
    const given = rows.map((row) => ({ ...row, expected }));
    await evaluator.evaluate(candidate, given);
    return { apart, scores: given.map(({ key }) => evaluator.scoreOf(candidate.hash, key)) };
  }

  test.each([
    ['exact_match', 'x'.repeat(200_000)],
    ['numeric', { total: 'x'.repeat(200_000) }],
    ['similarity', ['x'.repeat(200_000)]],
  ])('are scored by %s in a thread if the expected value is longer than any output', async (type, expected) => {
    const { apart, scores } = await scored({ type }, expected);
    expect(apart).toEqual(new Array(64).fill({ type }));
    expect(new Set(scores)).toEqual(new Set([0]));
  });
});
