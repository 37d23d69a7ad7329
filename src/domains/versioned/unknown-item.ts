import { ConflictError, NotFoundError } from '../../lib/errors.ts';
import type { Item } from './item.ts';
import type { ItemKind } from './kind.ts';

const quote = (text: string) => JSON.stringify(text.slice(0, 80));

/**
 * Returns the error for an unknown item. It is the same for an item that never existed, is deleted
 * or is in another project.
 */
export function unknownItem(kind: ItemKind, idOrSlug: string): NotFoundError {
  return new NotFoundError(kind.notFound, `This project has no ${kind.noun} ${quote(idOrSlug)}.`);
}

/** Returns the error for an unknown version of an item. */
export function unknownVersion(kind: ItemKind, item: Item, version: number): NotFoundError {
  return new NotFoundError(
    'version_not_found',
    `The ${kind.noun} ${item.slug} has no version ${version}; its newest is ${item.latestVersion}.`,
  );
}

/** Returns the error for an unknown label of an item. */
export function unknownLabel(kind: ItemKind, item: Item, label: string): NotFoundError {
  return new NotFoundError('label_not_found', `The ${kind.noun} ${item.slug} has no label ${quote(label)}.`);
}

/** Returns the error for a slug that another live item has. */
export function slugTaken(kind: ItemKind, slug: string): ConflictError {
  return new ConflictError('slug_taken', `Another ${kind.noun} of this project has the slug ${quote(slug)}.`);
}
