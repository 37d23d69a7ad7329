export { createAnalyticsLane } from './analytics-lane.ts';
export { isTimeZone } from './buckets.ts';
export type { FeedbackOfPrompts, PromptFeedback } from './feedback-of-prompt.ts';
export { findPromptCalls, type PromptCall } from './prompt-analytics-queries.ts';
