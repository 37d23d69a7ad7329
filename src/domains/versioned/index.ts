export { addVersion } from './add-version.ts';
export type { Acting, Added, ChangeHook, Collection, ItemChange } from './collection.ts';
export { createItem } from './create-item.ts';
export { etagOf, type Item, type ItemAt, type JsonObject, type Reference, type Version } from './item.ts';
export { ItemCache } from './item-cache.ts';
export { changesFrom, createFields, newItemFrom, updateFields } from './item-input.schema.ts';
export {
  itemAtSchemaOf,
  itemAtToWire,
  itemSummarySchema,
  itemSummaryToWire,
  versionSchemaOf,
  versionToWire,
} from './item-output.schema.ts';
export { isSlugTaken } from './item-store.ts';
export { hashOf, type Kind } from './kind.ts';
export { contentJson, itemLimits, projectParams, versionNumber } from './params.schema.ts';
export { actingFor, type ItemResource, idOrSlugIn, itemParams, itemResource, reading, writing } from './resource.ts';
export { walkItems } from './walk-items.ts';
