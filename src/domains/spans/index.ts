export {
  addSpan,
  addTotal,
  type CountableSpan,
  knownCost,
  modelKinds,
  nothingUsed,
  noUsage,
  sumUsage,
  type TokenUsage,
  type UsageTotal,
  usageParts,
} from './count-usage.ts';
export { type SpanKind, spanKinds } from './span-kind.ts';
