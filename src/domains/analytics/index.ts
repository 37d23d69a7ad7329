export { createAnalyticsLane } from './analytics-lane.ts';
export { isTimeZone } from './buckets.ts';
