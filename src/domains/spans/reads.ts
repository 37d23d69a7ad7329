// What only requests, commands and the join of log records read. A worker does not load it when it starts.
export { findPromptLinks } from './find-prompt-links.ts';
export {
  findJoinedSpans,
  findShowingSpans,
  type JoinedSpan,
  readSpansOf,
  type ShowingSpan,
} from './joined-span-queries.ts';
export { partNames, type SpanDetail, type SpanPart } from './span-detail.ts';
export { findCallTexts, findSpanPlaces, findSpanRows, type SpanPlace, variablePrefix } from './span-detail-queries.ts';
export { rebuildSpan, rebuiltRow, type StoredSpan, storedCost } from './stored-span.ts';
export { countStoredSpans, type ReadSpan, readStoredSpans, type StoredSpansFilter } from './stored-span-queries.ts';
export type { ClockedSpan, SkewOfSpan, TreeSpan } from './tree-span.ts';
export { findTreeSpans, type TreeSpans } from './tree-span-queries.ts';
export { findWholeTrace, type WholeTrace } from './whole-span-queries.ts';
