import { ExhaustedError } from '../../lib/errors.ts';
import { type BudgetGuard, requireBudget } from '../budgets/index.ts';
import type { BudgetReason, ModelCall } from '../prompt-search/index.ts';
import type { Run } from './run.ts';

/** Returns why calls of the search are no longer allowed, whatever ledger and time have left. */
export type SearchLimit = (call: Pick<ModelCall, 'model'>) => Promise<BudgetReason | undefined>;

/**
 * Ends the search when the budget of the project is used up. The final evaluation goes on, because the
 * run has reserved it. `prompt` is what a budget may name it by.
 */
export function createSearchLimit(guard: BudgetGuard, run: Run, prompt: readonly string[]): SearchLimit {
  const { projectId, workspaceId } = run;
  return async ({ model }) => {
    try {
      await requireBudget({ guard }, { projectId, workspaceId, prompt, model });
      return undefined;
    } catch (error) {
      if (error instanceof ExhaustedError) return 'project_budget';
      throw error;
    }
  };
}
