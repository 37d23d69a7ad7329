export { exportWebhookMetrics } from './export-webhook-metrics.ts';
