import type { ProjectId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { Item, ItemAt, Version } from './item.ts';
import { findItem, lockItem } from './item-store.ts';
import type { ItemKind, Kind } from './kind.ts';
import { unknownItem, unknownLabel, unknownVersion } from './unknown-item.ts';
import { findVersion } from './version-store.ts';

/** The requested version: a number, a label, or the newest version when both are absent. */
export interface Pin {
  version?: number | undefined;
  label?: string | undefined;
}

/**
 * Returns a live item by its id or slug.
 * @throws NotFoundError
 */
export async function readItem(
  postgres: Postgres,
  kind: ItemKind,
  projectId: ProjectId,
  idOrSlug: string,
): Promise<Item> {
  const item = await findItem(postgres, kind, projectId, idOrSlug);
  if (item === undefined) throw unknownItem(kind, idOrSlug);
  return item;
}

/**
 * Locks a live item until the transaction ends, so that no other transaction changes it, and returns it.
 * @throws NotFoundError
 */
export async function readLockedItem(
  transaction: Postgres,
  kind: ItemKind,
  projectId: ProjectId,
  idOrSlug: string,
): Promise<Item> {
  const item = await lockItem(transaction, kind, projectId, idOrSlug);
  if (item === undefined) throw unknownItem(kind, idOrSlug);
  return item;
}

/**
 * Returns one version of an item.
 * @throws NotFoundError
 */
export async function readVersion<Content>(
  postgres: Postgres,
  kind: Kind<Content>,
  item: Item,
  number: number,
): Promise<Version<Content>> {
  const version = await findVersion(postgres, kind, item, number);
  if (version === undefined) throw unknownVersion(kind, item, number);
  return version;
}

/**
 * Returns an item with its newest version.
 * @throws NotFoundError
 */
export async function readNewest<Content>(
  postgres: Postgres,
  kind: Kind<Content>,
  projectId: ProjectId,
  idOrSlug: string,
): Promise<ItemAt<Content>> {
  const item = await readItem(postgres, kind, projectId, idOrSlug);
  return { item, version: await readVersion(postgres, kind, item, item.latestVersion) };
}

/**
 * Returns the number of the requested version.
 * @throws NotFoundError for an unknown label
 */
export function versionAt(kind: ItemKind, item: Item, { version, label }: Pin): number {
  if (version !== undefined) return version;
  if (label === undefined || label === 'latest') return item.latestVersion;
  const found = item.labels.find((each) => each.label === label);
  if (found === undefined) throw unknownLabel(kind, item, label);
  return found.version;
}
