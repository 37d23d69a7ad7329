import type { IdPrefix, ProjectId } from '../../lib/ids.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

/** Something with a slug, metadata, immutable versions and labels that point at them: a prompt or a part. */
export interface Item {
  id: `${IdPrefix}_${string}`;
  projectId: ProjectId;
  slug: string;
  name: string;
  description: string | null;
  tags: readonly string[];
  /** What never changes, by the kind's `fixedColumns`. */
  fixed: Readonly<Record<string, unknown>>;
  latestVersion: number;
  /** Counts every change of the item and its labels. */
  revision: number;
  /** By name. */
  labels: readonly Label[];
  createdAt: Date;
  updatedAt: Date;
  /** Microseconds since the epoch, which a Date cannot hold: what pages go on after. */
  createdAtUs: string;
  updatedAtUs: string;
}

export interface Label {
  label: string;
  version: number;
  updatedAt: Date;
}

export type Metadata = Pick<Item, 'slug' | 'name' | 'description' | 'tags'>;

/** Who made a version or moved a label. */
export interface Author {
  type: string;
  id: string | null;
}

export const versionKinds = ['create', 'update', 'rollback', 'optimization', 'import'] as const;
export type VersionKind = (typeof versionKinds)[number];

/** One version; nothing in it ever changes. */
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
  /** Who brought it in, when it came by an import: author, kind and time are then what the import said. */
  imported: { by: Author; at: Date } | null;
}

/** An item with one of its versions. */
export interface ItemAt<Content> {
  item: Item;
  version: Version<Content>;
}

/** Names the state of an item that an answer with this version shows. */
export function etagOf({ id, revision }: Item, version: number): string {
  return `${id}.${revision}.${version}`;
}

/** The labels that point at a version. */
export function labelsOf(item: Item, version: number): string[] {
  return item.labels.filter((each) => each.version === version).map(({ label }) => label);
}

/** A part tag as it is written: `pin` is '' for the newest version, digits for that version, else a label. */
export interface Reference {
  slug: string;
  pin: string;
}
