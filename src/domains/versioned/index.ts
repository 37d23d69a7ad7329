export type { Acting, Added, Collection } from './collection.ts';
export { contentHashOf } from './content-hash.ts';
export { createItem } from './create-item.ts';
export { restorableDays, restoreItem } from './delete-item.ts';
export { actingFor, calledIn, type Exposure, itemParams, reading, writing } from './exposure.ts';
export { deleteEndpoint } from './item.routes.ts';
export { etagOf, type Item, type ItemAt, type JsonObject, type Reference, type Version } from './item.ts';
export { ItemCache } from './item-cache.ts';
export type { Kind } from './kind.ts';
export { labelEndpoints } from './label.routes.ts';
export { listItemsPage } from './list-items-page.ts';
export { versionAt } from './read-item.ts';
export { updateItem } from './update-item.ts';
export { versionEndpoints } from './version.routes.ts';
export {
  changesFrom,
  createFields,
  filtersFrom,
  itemAtSchemaOf,
  itemAtToWire,
  itemSchema,
  itemToWire,
  labelName,
  listQuery,
  newItemFrom,
  projectParams,
  updateFields,
  versionParam,
  versionSchemaOf,
  versionToWire,
} from './versioned.schema.ts';
