// What only the endpoints of prompts and parts need. The index has no verb that loads HTTP, because workers load it.
export { restorableDays, restoreItem } from './delete-item.ts';
export { listItemsPage } from './list-items-page.ts';
export { filtersFrom, listQuery, versionParam } from './query.schema.ts';
export { updateItem } from './update-item.ts';
