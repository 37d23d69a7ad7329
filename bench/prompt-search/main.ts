import { parseArgs } from 'node:util';
import { placeOf, rowKeyOf, splitRows } from '../../src/domains/optimization/split-rows.ts';
import { validationRowsFor } from '../../src/domains/prompt-search/search/choose-rows.ts';
import { algorithms, searchBy } from '../../src/domains/prompt-search/search/optimize.ts';
import type { CallOutcome, Decision, ModelCall, SearchInput } from '../../src/domains/prompt-search/search/ports.ts';
import { searchInput } from '../../test/support/simulated-model/search-input.ts';
import { simulatedPorts } from '../../test/support/simulated-model/simulated-ports.ts';
import { tickets } from '../../test/support/simulated-model/tickets.ts';
import { baselines } from './baselines.ts';
import { engine, type Pack, packs } from './packs.ts';

/**
 * Runs each algorithm and each baseline on the public packs, and prints the mean accuracy of the winner on
 * the holdout, the calls, and how many runs claimed an improvement. It needs no engines. Run it with
 * `npx tsx bench/prompt-search/main.ts --seeds 60`.
 */
const { values } = parseArgs({ options: { seeds: { type: 'string', default: '10' } } });
const seeds = Array.from({ length: Number(values.seeds) }, (_, index) => index + 1);
const nanoPerToken = 150n;

for (const [name, { pack, callsMax, rows }] of Object.entries(packs)) {
  for (const [algorithm, search] of Object.entries({ ...baselines, ...algorithms })) {
    const results = [];
    for (const seed of seeds) {
      const input = inputOf(pack, rows(seed), { seed, callsMax });
      const { ports, calls } = simulatedPorts({ task: tickets, callsMax, intercept: repliesOf(pack, seed) });
      results.push({ ...(await searchBy(search)(ports, input)), calls: calls.length });
    }
    console.log(JSON.stringify({ pack: name, algorithm, ...summarize(results) }));
  }
}

function inputOf(
  pack: Pack,
  given: { inputs: Record<string, string>; expected: string }[],
  { seed, callsMax }: { seed: number; callsMax: number },
): SearchInput {
  const places = given.map(({ inputs, expected }) =>
    placeOf({ inputs, expected, key: rowKeyOf(inputs) }, `prompt-${seed}`),
  );
  const sizes = { holdoutFraction: 0.3, holdoutMax: 100, valMax: validationRowsFor(callsMax) };
  const base = { type: 'text', template: pack.seedTemplate } as const;
  const { rows } = splitRows(places, sizes);
  const settings = { callsMax, base, config: { seed }, search: { maxIterations: 100, patience: 25 } };
  return { ...searchInput(tickets, settings), rows };
}

function repliesOf(pack: Pack, seed: number): (call: ModelCall) => CallOutcome {
  return ({ kind, messages, params, sampleIx: nonce = 0 }) => {
    const text = messages.map(({ content }) => content).join('\n');
    const json = params.response_format !== undefined;
    const reply =
      kind === 'reflect'
        ? engine.reflectModel(pack, text, { seed, nonce, json })
        : engine.taskModel(pack, text, { seed, temperature: 0, nonce });
    const { prompt_tokens: inputTokens, completion_tokens: outputTokens } = reply.usage;
    const costNanoUsd = BigInt(inputTokens + outputTokens) * nanoPerToken;
    return { ok: true, result: { text: reply.text, inputTokens, outputTokens, costNanoUsd, latencyMs: inputTokens } };
  };
}

function summarize(results: readonly (Decision & { calls: number })[]) {
  const mean = (numbers: number[]) => Number((numbers.reduce((a, b) => a + b, 0) / numbers.length).toFixed(3));
  const bests = results.map(({ score }) => score?.best.mean ?? 0);
  return {
    seeds: results.length,
    base: mean(results.map(({ score }) => score?.base.mean ?? 0)),
    best: mean(bests),
    least: Math.min(...bests),
    calls: mean(results.map(({ calls }) => calls)),
    improved: results.filter(({ outcome }) => outcome === 'improved').length,
  };
}
