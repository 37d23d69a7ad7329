export { boundMerges } from './bound-merges.ts';
export { type MergeDataPartsDeps, mergeDataParts } from './merge-data-parts.ts';
