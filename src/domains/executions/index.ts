export { createExecutions } from './create-executions.ts';
export { usageSchema, usageToWire } from './executions.schema.ts';
export { type FeedbackWire, feedbackSchema, feedbackTargets } from './feedback.schema.ts';
export type { ExecutionFeedback, FeedbackOfExecutions, ProjectOfFeedback } from './feedback-of-executions.ts';
export { type CallTexts, readCallTexts } from './read-call-texts.ts';
