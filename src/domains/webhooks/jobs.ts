export { pruneEvents, pruneWebhooks } from './delivery-queue-store.ts';
export { startWebhookLane } from './webhook-lane.ts';
