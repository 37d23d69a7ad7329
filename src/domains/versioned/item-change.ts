import type { Item, VersionKind } from './item.ts';

/** What happened to an item, for the domains that report it. */
export type ItemChange = { item: Pick<Item, 'id' | 'slug' | 'name'> } & (
  | { did: 'version_created'; version: number; kind: VersionKind; parentVersion: number | null }
  /** `from` is null for a new label, `to` for a removed one. */
  | { did: 'label_moved'; label: string; from: number | null; to: number | null }
  | { did: 'deleted' }
);
