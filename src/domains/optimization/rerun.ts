import { formatUsd } from '../../lib/money.ts';
import { mapInSlices, sharedThird } from '../../lib/pace.ts';
import type { PromptContent } from '../prompts/index.ts';
import type { Item, ItemCache } from '../versioned/index.ts';
import { callPrices } from './call-prices.ts';
import { textOf } from './candidate-texts.ts';
import { warnOfHoldoutUses } from './holdout-uses.ts';
import { planRun } from './plan-run.ts';
import type { PrepareRunDeps } from './prepare-run.ts';
import { type ModelDefaults, requireEndpoint } from './resolve-config.ts';
import { listRows } from './row-store.ts';
import { isActive, notTerminal, type Run, unknownRun } from './run.ts';
import { findRun } from './run-store.ts';
import { placeOf } from './split-rows.ts';
import { requireStart, type Starting, type StartRunDeps, startRun } from './start-run.ts';

export interface RerunDeps extends StartRunDeps, Pick<PrepareRunDeps, 'prices'> {
  prompts: Pick<ItemCache<PromptContent>, 'readVersion'>;
  models: ModelDefaults;
}

/**
 * Starts a run with the config and the rows of one that has ended. It is planned anew, because prices and the uses of the
 * holdout change.
 * @throws NotFoundError, ConflictError `run_not_terminal`
 * @throws InvalidError `model_not_configured`, `price_unknown`, `budget_too_small`, and the errors of {@link startRun}
 */
export async function rerun(
  deps: RerunDeps,
  { runId, prompt, ...starting }: Omit<Starting, 'run'> & { runId: string; prompt: Item },
): Promise<Run> {
  const { project } = starting;
  const key = { projectId: project.projectId, promptId: prompt.id };
  const earlier = await findRun(deps.postgres, { ...key, id: runId });
  if (earlier === undefined) throw unknownRun(runId);
  if (isActive(earlier)) throw notTerminal(earlier);
  requireEndpoint(deps.models);
  await requireStart(deps, starting, prompt.id);
  const { baseVersion, config } = earlier;
  const rows = await listRows(deps.postgres, earlier);
  const { content } = await deps.prompts.readVersion(project, prompt, baseVersion);
  const { plan, warnings, holdoutId, costNanoUsdMax } = planRun(config, {
    base: textOf(content),
    // Each names its split.
    rows: await mapInSlices(rows, (row) => placeOf(row, prompt.id), sharedThird(project.workspaceId)),
    ...{ dropped: earlier.plan.rows.dropped, unused: earlier.plan.rows.unused },
    holdoutFraction: earlier.options.holdout_fraction,
    prices: callPrices(deps.prices.table, await deps.prices.overrides.of(project), new Date()),
  });
  const repeats = { code: 'rerun', message: `This run repeats ${earlier.id} with the same rows and settings.` };
  return startRun(deps, {
    ...starting,
    run: {
      ...{ prompt, rows, baseVersion, config, plan },
      options: { ...earlier.options, priced_cost_usd: formatUsd(costNanoUsdMax) },
      warnings: [repeats, ...warnings, ...(await warnOfHoldoutUses(deps.postgres, key, holdoutId))],
    },
  });
}
