export { scoresOfTraces } from './execution-feedback-store.ts';
export { FeedbackCounts } from './feedback-counts.ts';
export {
  type CallTarget,
  type FeedbackKind,
  type FeedbackPlace,
  feedbackKinds,
  findFeedbackPlaces,
  findSaidOf,
  type SaidOfTarget,
  targetKey,
} from './feedback-on-calls-store.ts';
export { FeedbackReads } from './feedback-reads.ts';
