import { contentHashOf } from './content-hash.ts';
import type { JsonObject } from './item.ts';

/** What differs between the kinds of items. */
export interface ItemKind {
  noun: 'prompt' | 'part';
  idPrefix: 'prm' | 'prt';
  notFound: 'prompt_not_found' | 'part_not_found';
  tables: { items: string; versions: string; labels: string; labelHistory: string };
  /** Name of the column with the item's id in other tables. */
  idColumn: 'prompt_id' | 'part_id';
  /** Slugs that would collide with a route. */
  reservedSlugs: readonly string[];
  /**
   * Columns of an item in addition to the common ones. Its first content sets them, and they never
   * change.
   */
  fixedColumns: readonly string[];
}

/** A kind of items, with the storage of the content of its versions. */
export interface Kind<Content> extends ItemKind {
  /** Columns of a version in addition to the common ones. */
  ownColumns: readonly string[];
  toColumns(content: Content): Readonly<Record<string, string | null>>;
  fromColumns(row: Readonly<Record<string, unknown>>): Content;
  /** Returns the values of {@link ItemKind.fixedColumns}. */
  toFixed(content: Content): Readonly<Record<string, string>>;
  /** Returns the content in the form that its hash is computed over. */
  hashed(content: Content): JsonObject;
}

/** Returns the hash of content. Equal content has equal hashes. */
export function hashOf<Content>(kind: Kind<Content>, content: Content): string {
  return contentHashOf(kind.hashed(content));
}
