export { createAnalyticsLane } from './analytics-lane.ts';
