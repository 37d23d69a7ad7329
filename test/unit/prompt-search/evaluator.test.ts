import { describe, expect, test } from 'vitest';
import { prepareMetrics } from '../../../src/domains/prompt-search/metrics/combine-scores.ts';
import { Evaluator } from '../../../src/domains/prompt-search/search/evaluator.ts';
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
