import { prepareMetrics } from '../metrics/combine-scores.ts';
import { promptTokensOf } from './candidate-content.ts';
import { chooseRows } from './choose-rows.ts';
import { Evaluator } from './evaluator.ts';
import { growthMax, namesOf, sampleOf } from './guard-candidate.ts';
import type { SearchInput, SearchPorts } from './ports.ts';
import { describeCandidate } from './propose-candidate.ts';
import type { SearchRun } from './search-run.ts';
import { TrainOrder } from './train-order.ts';

/** A candidate may be this long, however short the base is. */
const promptTokensMax = 1_500;

/**
 * Returns the state in which a search starts, without a candidate.
 * @throws RunFailed if the template engine refuses the base
 */
export async function startSearch(ports: SearchPorts, { config, base, rows }: SearchInput): Promise<SearchRun> {
  const metrics = prepareMetrics(config.metrics);
  const counting: SearchPorts = {
    ...ports,
    async call(call) {
      const outcome = await ports.call(call);
      run.calls++;
      return outcome;
    },
  };
  const { target } = config;
  const chosen = chooseRows(rows, config);
  const row = chosen.train[0] ?? chosen.val[0];
  const run: SearchRun = {
    ports: counting,
    config,
    metrics,
    evaluator: new Evaluator({ ports: counting, target, metrics, concurrency: config.search.concurrency }),
    rules: {
      base,
      names: await namesOf(ports, base),
      sample: row && (await sampleOf(ports, base, row)),
      promptTokensMax: Math.max(growthMax * promptTokensOf(base), config.search.maxPromptTokens ?? promptTokensMax),
    },
    rows: chosen,
    trainOrder: new TrainOrder(chosen.train, config.seed),
    pool: [],
    best: { candidate: undefined, members: 0, trainResults: 0 },
    seen: new Set(),
    refusedOnce: new Set(),
    messageFaults: new Map(),
    failedProposals: 0,
    asksForJson: true,
    iteration: 0,
    calls: 0,
    phase: 'preparing',
  };
  return run;
}

/** Returns the base as the first candidate of a run. */
export function seedOf(run: SearchRun) {
  const given = { parent: undefined, content: run.rules.base, origin: 'seed', hypothesis: null } as const;
  return { ...describeCandidate(run, { ...given, slot: 0, attempt: 0 }), status: 'pool' } as const;
}
