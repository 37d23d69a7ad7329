export { createIdempotencyStore } from './idempotency-store.ts';
