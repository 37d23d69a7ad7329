import type { IdPrefix, ProjectId } from '../../lib/ids.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

/**
 * A prompt or a part. It has a slug, metadata, immutable versions, and labels that point at
 * versions.
 */
export interface Item {
  id: `${IdPrefix}_${string}`;
  projectId: ProjectId;
  slug: string;
  name: string;
  description: string | null;
  tags: readonly string[];
  /** Values that never change, by the kind's `fixedColumns`. */
  fixed: Readonly<Record<string, unknown>>;
  latestVersion: number;
  /** Counts every change of the item and its labels. */
  revision: number;
  /** Sorted by name. */
  labels: readonly Label[];
  createdAt: Date;
  updatedAt: Date;
  /** Microseconds since the epoch, for the cursors of lists. A Date only has milliseconds. */
  createdAtUs: string;
  updatedAtUs: string;
}

export interface Label {
  label: string;
  version: number;
  updatedAt: Date;
}

export type Metadata = Pick<Item, 'slug' | 'name' | 'description' | 'tags'>;

/** The actor who made a version or moved a label. */
export interface Author {
  type: string;
  id: string | null;
}

export const versionKinds = ['create', 'update', 'rollback', 'optimization', 'import'] as const;
export type VersionKind = (typeof versionKinds)[number];

/** One immutable version. */
export interface Version<Content> {
  version: number;
  content: Content;
  contentHash: string;
  commitMessage: string | null;
  kind: VersionKind;
  parentVersion: number | null;
  rolledBackFrom: number | null;
  optimizationRunId: string | null;
  author: Author;
  createdAt: Date;
  /**
   * Who imported the version and when. For an imported version, the author, kind and time are those
   * that the import stated.
   */
  imported: { by: Author; at: Date } | null;
}

/** An item with one of its versions. */
export interface ItemAt<Content> {
  item: Item;
  version: Version<Content>;
}

/** Returns the entity tag of a response that shows the item with this version. */
export function etagOf({ id, revision }: Item, version: number): string {
  return `${id}.${revision}.${version}`;
}

/** Returns the labels that point at a version. */
export function labelsOf(item: Item, version: number): string[] {
  return item.labels.filter((each) => each.version === version).map(({ label }) => label);
}

/**
 * The reference of a part tag. `pin` is '' for the newest version, digits for that version,
 * otherwise a label.
 */
export interface Reference {
  slug: string;
  pin: string;
}
