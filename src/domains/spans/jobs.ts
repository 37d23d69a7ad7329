export { type MergeDataPartsDeps, mergeDataParts } from './merge-data-parts.ts';
