import type { BudgetInput } from './budget.ts';
import { type GetBudgetDeps, type ReadBudget, readUse } from './get-budget.ts';
import { type BudgetChange, type PutBudgetDeps, putBudget } from './put-budget.ts';

/**
 * Replaces the budget of a project, and returns the new version with its spend. The spend is read before: otherwise a
 * refused read would look as if nothing was stored, and the caller would store another version. `recheck` decides again
 * whether the caller may do this, because the read can take seconds.
 * @throws what `recheck`, {@link readUse} and {@link putBudget} throw
 */
export async function replaceBudget(
  deps: GetBudgetDeps & PutBudgetDeps,
  {
    signal,
    recheck,
    ...change
  }: BudgetChange & { input: BudgetInput; signal: AbortSignal; recheck: () => Promise<void> },
): Promise<ReadBudget> {
  const reportOn = await readUse(deps, { ...change.project, signal }, change.input, () => []);
  await recheck();
  const budget = await putBudget(deps, change);
  return { budget, wire: reportOn(budget) };
}
