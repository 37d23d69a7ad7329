import { insertRows } from '../../src/domains/optimization/row-store.ts';
import type { Run } from '../../src/domains/optimization/run.ts';
import { type RunRow, toRun } from '../../src/domains/optimization/run-row.ts';
import { insertRun } from '../../src/domains/optimization/run-store.ts';
import type { SearchConfig } from '../../src/domains/prompt-search/search/ports.ts';
import { newId, type ProjectId } from '../../src/lib/ids.ts';
import type { Postgres } from '../../src/stores/postgres/client.ts';
import { inTransaction } from '../../src/stores/postgres/transaction.ts';
import { insertPrompt } from './prompts.ts';
import { rowsOf } from './simulated-model/simulated-task.ts';
import { tickets } from './simulated-model/tickets.ts';
import { until } from './until.ts';

/** Members of the config that a test changes. Each group is merged with the defaults. */
export interface RunInput {
  budget?: Partial<SearchConfig['budget']>;
  search?: Partial<SearchConfig['search']>;
  seed?: number;
  apply?: Run['options']['apply'];
  /** Rows of the simulated task: the first 40 % train, the next 30 % validate. */
  rows?: number;
  template?: string;
  reservationId?: string;
  costMaxNanoUsd?: bigint;
}

/** The names of a run that the stores need. */
export interface RunRef {
  projectId: ProjectId;
  promptId: string;
  id: string;
}

const noLimits = { maxCalls: null, maxTokens: null, maxCostUsd: null, maxDurationS: null };

/** Returns the config of a run whose models are simulated. */
export function simulatedConfig({ budget, search, seed = 1 }: RunInput = {}): SearchConfig {
  return {
    algorithm: 'reflective',
    seed,
    metrics: [{ type: 'exact_match' }],
    target: { model: 'sim-task', params: { temperature: 0, max_tokens: 40 }, samplesPerRow: 1 },
    reflection: { model: 'sim-reflect', params: { temperature: 1, max_tokens: 800 } },
    budget: { ...noLimits, maxCalls: 400, ...budget },
    search: {
      ...{ maxIterations: 1_000, patience: 1_000, minibatchSize: 4, valSize: null, concurrency: 8 },
      ...{ maxPromptTokens: null, targetScore: null, guidance: null, ...search },
    },
    minEffect: 0,
  };
}

/** Stores a queued run of a new prompt, as the endpoint does. `also` runs in the same transaction. */
export async function insertQueuedRun(
  postgres: Postgres,
  projectId: string,
  input: RunInput = {},
  also: (transaction: Postgres, run: RunRef) => Promise<unknown> = async () => undefined,
): Promise<RunRef> {
  const { rows = 60, template = tickets.seedTemplate, apply = 'never', reservationId = null, costMaxNanoUsd } = input;
  const id = newId('opt');
  const promptId = await insertPrompt(postgres, projectId, { slug: id.replaceAll('_', '-'), templates: [template] });
  const { workspace_id: workspaceId } = await postgres('projects').where({ id: projectId }).first('workspace_id');
  const run = { projectId: projectId as ProjectId, promptId, id };
  await inTransaction(postgres, async (transaction) => {
    await insertRun(transaction, {
      ...{ ...run, workspaceId, baseVersion: 1, config: simulatedConfig(input), warnings: [] },
      ...{ reservationId, costMaxNanoUsd },
      options: { apply, dataset_source: 'inline', dataset_filter: null, holdout_fraction: 0.3, holdout_id: null },
      plan: {
        rows: { train: 0, val: 0, holdout: 0, dropped: 0, unused: 0 },
        ...{ estimated_proposals: [0, 0], estimated_cost_usd: null, reserved_for_holdout_calls: 0 },
      },
      createdBy: { type: 'api_key', id: null },
    });
    await insertRows(transaction, { projectId: run.projectId, runId: id }, simulatedRows(rows));
    await also(transaction, run);
  });
  return run;
}

function simulatedRows(count: number) {
  return rowsOf(tickets, count).map((row, index) => {
    const share = index / count;
    const split = share < 0.4 ? 'train' : share < 0.7 ? 'val' : 'holdout';
    return { ...row, key: `row-${index}`, split, weight: 1, source: 'inline' } as const;
  });
}

/** Reads a run. */
export async function readRun(postgres: Postgres, { projectId, id }: RunRef): Promise<Run> {
  const row = await postgres('optimization_runs').where({ project_id: projectId, id }).first<RunRow>('*');
  return toRun(row);
}

/** Waits until a run has ended. */
export async function untilEnded(postgres: Postgres, run: RunRef, timeoutMs: number): Promise<Run> {
  return until(`the end of ${run.id}`, timeoutMs, async () => {
    const read = await readRun(postgres, run);
    return read.finishedAt !== null && read;
  });
}

/** Waits until a run has made so many calls. */
export async function untilCalls(postgres: Postgres, run: RunRef, calls: number, timeoutMs = 60_000): Promise<void> {
  await until(`${calls} calls of ${run.id}`, timeoutMs, async () => {
    const done = await postgres('optimization_calls')
      .where({ run_id: run.id, state: 'done' })
      .count({ n: '*' })
      .first();
    return Number(done?.n) >= calls;
  });
}
