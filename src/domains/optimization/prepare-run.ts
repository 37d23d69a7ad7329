import { randomInt } from 'node:crypto';
import { InvalidError, UnavailableError } from '../../lib/errors.ts';
import type { Waiter } from '../../lib/fair-lane-options.ts';
import { formatUsd } from '../../lib/money.ts';
import { mapInSlices, type Rest, sharedThird } from '../../lib/pace.ts';
import type { OverrideCache, PriceTable } from '../pricing/index.ts';
import type { PromptContent } from '../prompts/index.ts';
import { type CompiledPrompt, compilePrompt, type PartSource } from '../rendering/index.ts';
import type { Item, ItemCache } from '../versioned/index.ts';
import type { ProjectScope } from '../workspaces/index.ts';
import { callPrices } from './call-prices.ts';
import { textOf } from './candidate-texts.ts';
import { checkRows } from './check-rows.ts';
import { chooseMetrics } from './choose-metrics.ts';
import { warnOfHoldoutUses } from './holdout-uses.ts';
import type { OptimizeBody } from './optimize.schema.ts';
import { planRun } from './plan-run.ts';
import { type ModelDefaults, resolveConfig } from './resolve-config.ts';
import { type RowsFromExecutionsDeps, rowsFromExecutions } from './rows-from-executions.ts';
import type { RunOptions, RunWarning } from './run.ts';
import { placeOf, type RowInput } from './split-rows.ts';
import { type RunToStart, requireStart, type Starting, type StartRunDeps } from './start-run.ts';
import { requireEnough, requireFewVariables, scorableRows, usableRows } from './usable-rows.ts';
import { validRows } from './valid-rows.ts';

export interface PrepareRunDeps extends RowsFromExecutionsDeps, Pick<StartRunDeps, 'limiter'> {
  prompts: Pick<ItemCache<PromptContent>, 'locate' | 'readVersion'>;
  source: PartSource;
  prices: { table: PriceTable; overrides: OverrideCache };
  models: ModelDefaults;
}

export interface PrepareRunInput extends Pick<Starting, 'limited'> {
  project: ProjectScope;
  idOrSlug: string;
  body: OptimizeBody;
  waiter: Waiter;
}

/** A run that could begin, before anything of it is stored. */
export interface PreparedRun extends RunToStart {
  prompt: Item;
}

/**
 * Reads what a run needs, resolves its config and plans it. Stores nothing and calls no model.
 * @throws NotFoundError, InvalidError, TooLargeError, RateLimitedError, UnavailableError
 * @throws the errors of {@link requireStart}, unless it is a dry run
 */
export async function prepareRun(deps: PrepareRunDeps, input: PrepareRunInput): Promise<PreparedRun> {
  const { project, idOrSlug, body } = input;
  const { item, number } = await deps.prompts.locate(project, idOrSlug, { version: body.base_version });
  const { content } = await deps.prompts.readVersion(project, item, number);
  const compiled = await compilePrompt(deps.source, project, content);
  requireParts(compiled);
  const required = requiredOf(compiled);
  requireFewVariables(required);
  if (!body.dry_run) await requireStart(deps, input, item.id);
  const rest = sharedThird(project.workspaceId);
  const found = await findRows(deps, input, { prompt: item, compiled, rest });
  const threads = deps.source.threads.of(project.workspaceId, input.waiter);
  const usable = await usableRows(found.rows, required, rest);
  const valid = await validRows(threads, compiled, usable.rows, rest);
  const { metrics, warnings: metricWarnings } = await chooseMetrics(threads, body.metrics, valid.rows, rest);
  const scorable = scorableRows(valid.rows, metrics);
  const config = resolveConfig(body, { base: content, models: deps.models, metrics, seed: randomInt(2 ** 31) });
  const planned = planRun(config, {
    base: textOf(content),
    rows: await mapInSlices(scorable.rows, (row) => placeOf(row, item.id), rest),
    dropped: found.dropped + usable.dropped + valid.dropped + scorable.dropped,
    holdoutFraction: body.holdout_fraction,
    prices: callPrices(deps.prices.table, await deps.prices.overrides.of(project), new Date()),
  });
  const { source } = body.dataset;
  const options: RunOptions = {
    apply: body.apply,
    dataset_source: source,
    dataset_filter: body.dataset.source === 'executions' ? body.dataset.filter : null,
    holdout_fraction: body.holdout_fraction,
    holdout_id: planned.holdoutId,
    part_picks: compiled.picks,
    priced_cost_usd: formatUsd(planned.costNanoUsdMax),
  };
  const steps = [found, usable, valid, { warnings: metricWarnings }, scorable, planned];
  return {
    ...{
      prompt: item,
      baseVersion: number,
      config,
      options,
      plan: planned.plan,
    },
    rows: planned.rows.map((row) => ({ ...row, source: source === 'inline' ? 'inline' : 'execution' })),
    warnings: [
      ...steps.flatMap(({ warnings }) => warnings),
      ...(await warnOfHoldoutUses(deps.postgres, { ...project, promptId: item.id }, planned.holdoutId)),
    ],
  };
}

async function findRows(
  deps: PrepareRunDeps,
  { project, body: { dataset }, waiter }: PrepareRunInput,
  { prompt, compiled: { variables }, rest }: { prompt: Item; compiled: CompiledPrompt; rest: Rest },
): Promise<{ rows: RowInput[]; dropped: number; warnings: readonly RunWarning[] }> {
  if (dataset.source === 'inline') {
    const rows = await checkRows(dataset.rows, rest);
    requireEnough(rows.length);
    return { rows, dropped: 0, warnings: [] };
  }
  const { filter } = dataset;
  const found = await rowsFromExecutions(deps, { project, prompt, variables, filter, waiter, rest });
  const dropped = Object.values(found.dropped).reduce((sum, count) => sum + count, 0);
  if (found.isCut && found.rows.length + dropped === 0) throw tookTooLong();
  const why = found.warnings.map(({ message }) => `. ${message}`).join('');
  requireEnough(found.rows.length, ` from executions with feedback (${filter.feedback})${why}`);
  return { ...found, dropped };
}

function tookTooLong(): UnavailableError {
  const message = 'Finding executions with feedback took too long, so none was read. Send the request again.';
  return new UnavailableError('server_busy', message, { retryAfterS: 5 });
}

const requiredOf = ({ variables }: CompiledPrompt) =>
  [...variables].flatMap(([path, isRequired]) => (isRequired ? [path] : []));

function requireParts({ expanded }: CompiledPrompt): void {
  const unknown = expanded.problems.find(({ code }) => code === 'unknown_part');
  if (unknown !== undefined) throw new InvalidError('unknown_part', unknown.message);
}
