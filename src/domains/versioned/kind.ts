import { contentHashOf } from './content-hash.ts';
import type { JsonObject } from './item.ts';

/** What differs between things that have versions, labels and a slug. */
export interface ItemKind {
  noun: 'prompt' | 'part';
  idPrefix: 'prm' | 'prt';
  notFound: 'prompt_not_found' | 'part_not_found';
  tables: { items: string; versions: string; labels: string; labelHistory: string };
  /** What the other tables call the id of an item. */
  idColumn: 'prompt_id' | 'part_id';
  /** Slugs that would be taken for another route. */
  reservedSlugs: readonly string[];
  /** Columns of an item beside those that every kind has; its first content decides them for good. */
  fixedColumns: readonly string[];
}

/** And what their versions hold. */
export interface Kind<Content> extends ItemKind {
  /** Columns of a version beside those that every kind has. */
  ownColumns: readonly string[];
  toColumns(content: Content): Readonly<Record<string, string | null>>;
  fromColumns(row: Readonly<Record<string, unknown>>): Content;
  /** Values of {@link ItemKind.fixedColumns}. */
  toFixed(content: Content): Readonly<Record<string, string>>;
  /** The content as its hash is computed over it. */
  hashed(content: Content): JsonObject;
}

/** The hash of content: the same content, the same hash. */
export function hashOf<Content>(kind: Kind<Content>, content: Content): string {
  return contentHashOf(kind.hashed(content));
}
