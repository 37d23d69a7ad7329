export { BudgetGuard, type Spending } from './budget-guard.ts';
export { exportBudgetMetrics } from './export-budget-metrics.ts';
export { releaseReservation, requireBudget, reserveBudget } from './reserve-budget.ts';
