export { type ReconcileSummariesDeps, reconcileSummaries } from './reconcile-summaries.ts';
export { startSummaryLane } from './summary-lane.ts';
