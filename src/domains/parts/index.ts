export { type PartContent, partKind, referencesOf } from './part.ts';
export { lockPartGraph } from './part-graph-store.ts';
export { addPromptReferences, checkImportedReferences } from './part-references.ts';
export { findSimilarPartSlugs } from './part-slug-store.ts';
