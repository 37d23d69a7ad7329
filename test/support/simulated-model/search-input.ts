import type { CandidateContent, Row, SearchInput, Split } from '../../../src/domains/prompt-search/search/ports.ts';
import type { SearchConfig } from '../../../src/domains/prompt-search/search/search-config.ts';
import { models } from './simulated-reply.ts';
import { rowsOf, type SimulatedTask } from './simulated-task.ts';

type SearchSettings = Partial<SearchConfig['search']>;

export interface InputOptions {
  /** Numbers of rows by split. */
  rows?: Partial<Record<Split, number>>;
  rowSeed?: number;
  config?: Partial<Omit<SearchConfig, 'search'>>;
  search?: SearchSettings;
  callsMax?: number | null;
  base?: CandidateContent;
}

/** Returns the input of a search over rows of a simulated task. */
export function searchInput<F>(task: SimulatedTask<F>, options: InputOptions = {}): SearchInput {
  const { rows: sizes = { train: 48, val: 20, holdout: 30 }, rowSeed = 1, callsMax = 300 } = options;
  const splits = (['train', 'val', 'holdout'] as const).flatMap((split) =>
    new Array<Split>(sizes[split] ?? 0).fill(split),
  );
  const rows = rowsOf(task, splits.length, rowSeed).map(
    ({ inputs, expected }, index): Row => ({
      ...{ key: `row-${rowSeed}-${index}`, split: splits[index] ?? 'train', inputs, expected, weight: 1 },
    }),
  );
  return {
    rows,
    base: options.base ?? { type: 'text', template: task.seedTemplate },
    config: {
      algorithm: 'reflective',
      seed: 1,
      metrics: [{ type: 'exact_match' }],
      target: { model: models.task, params: { temperature: 0, max_tokens: 64 }, samplesPerRow: 1 },
      reflection: { model: models.reflect, params: { temperature: 1 } },
      budget: { maxCalls: callsMax, maxTokens: null, maxCostUsd: null, maxDurationS: null },
      minEffect: 0,
      ...options.config,
      search: {
        ...{ maxIterations: 50, patience: 15, minibatchSize: 4, valSize: null, concurrency: 4 },
        ...{ maxPromptTokens: 1_500, targetScore: null, guidance: null, ...options.search },
      },
    },
  };
}
