export { BudgetGuard, type Spending } from './budget-guard.ts';
export { exportBudgetMetrics } from './export-budget-metrics.ts';
export { keepReservation, releaseReservation, requireBudget, reserveBudget } from './reserve-budget.ts';
