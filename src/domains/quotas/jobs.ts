export { type SettleUsageDeps, settleMonthlyUsage } from './settle-monthly-usage.ts';
