export { createAnalyticsLane } from './analytics-lane.ts';
export type { FeedbackOfPrompts, PromptFeedback } from './feedback-of-prompt.ts';
