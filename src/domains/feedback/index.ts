export { scoresOfTraces } from './execution-feedback-store.ts';
export { FeedbackCounts } from './feedback-counts.ts';
export { FeedbackReads } from './feedback-reads.ts';
