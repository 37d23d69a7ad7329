export { type CheckBudgetsDeps, checkBudgets } from './check-budgets.ts';
