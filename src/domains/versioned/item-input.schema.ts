import { z } from 'zod';
import { pageParams } from '../../http/pagination.ts';
import { repeatedParam } from '../../http/query.ts';
import { type ItemFilters, itemSorts } from './item-list-store.ts';
import type { ItemKind } from './kind.ts';
import { itemLimits, labelName, versionNumber } from './params.schema.ts';
import { isReserved, slugPattern } from './slug.ts';

const tag = z.string().trim().min(1).max(100);
const tags = z
  .array(tag)
  .max(50)
  .transform((given) => [...new Set(given)]);

const name = z.string().trim().min(1).max(200).meta({ example: 'Support answer' });
const description = z.string().max(10_000).nullish();
const commitMessage = z.string().max(2_000).nullish();
const labels = z
  .array(labelName)
  .max(itemLimits.labelsMax)
  .optional()
  .meta({ example: ['production'] });

const slugOf = (kind: ItemKind) =>
  z
    .string()
    .regex(slugPattern, 'must begin with a-z or 0-9, followed by at most 99 of the characters a-z, 0-9, _, . and -')
    .refine((slug) => !isReserved(kind, slug), 'is reserved')
    .meta({ example: 'support-answer' });

/** Fields of a request body that creates an item; {@link newItemFrom} reads them. */
export const createFields = (kind: ItemKind) => ({
  name,
  slug: slugOf(kind).optional(),
  description,
  tags: tags.nullish(),
  labels,
  commit_message: commitMessage,
});

/** Fields of a request body that changes an item. An absent field stays, null clears it. */
export const updateFields = (kind: ItemKind) => ({
  name: name.optional(),
  slug: slugOf(kind).optional(),
  description,
  tags: tags.nullish(),
  labels,
  commit_message: commitMessage,
  base_version: versionNumber.optional().meta({
    description: 'The newest version that the caller knows. If it is not the newest version, the response is 409',
  }),
});

interface ItemBody {
  description?: string | null | undefined;
  tags?: string[] | null | undefined;
  labels?: string[] | undefined;
  commit_message?: string | null | undefined;
}

/** Reads the metadata, labels and commit message of a new item. */
export function newItemFrom(body: ItemBody & { name: string; slug?: string | undefined }) {
  const { name: idOrSlug, slug, description: described = null, tags: given, labels: pointed = [] } = body;
  const metadata = { name: idOrSlug, slug, description: described, tags: given ?? [] };
  return { metadata, labels: pointed, commitMessage: body.commit_message ?? null };
}

/** Reads the changes of an item; undefined means unchanged. */
export function changesFrom(
  body: ItemBody & { name?: string | undefined; slug?: string | undefined; base_version?: number | undefined },
) {
  const { name: idOrSlug, slug, description: described, tags: given, labels: pointed = [] } = body;
  return {
    metadata: { name: idOrSlug, slug, description: described, tags: given === null ? [] : given },
    labels: pointed,
    commitMessage: body.commit_message ?? null,
    baseVersion: body.base_version,
  };
}

export const listQuery = {
  ...pageParams,
  q: z
    .string()
    .max(200)
    .optional()
    .meta({ description: 'Words that the name, the slug or the description must contain', example: 'support' }),
  tag: repeatedParam(tag).optional().meta({
    description: 'Only items with this tag. If it is repeated, items must have all of the tags',
    example: 'billing',
  }),
  label: z
    .string()
    .max(36)
    .optional()
    .meta({ description: 'Only items that have a version with this label', example: 'production' }),
  name: z
    .string()
    .max(200)
    .optional()
    .meta({ description: 'Only items with exactly this name', example: 'Support answer' }),
  updated_after: z.iso
    .datetime({ offset: true })
    .optional()
    .meta({ description: 'Only items that were changed after this time' }),
  sort: z.enum(itemSorts).default('-updated_at').meta({ description: 'The order of the list' }),
};

/** Reads the filters of a list from its query. */
export function filtersFrom(query: {
  q?: string | undefined;
  tag?: readonly string[] | undefined;
  label?: string | undefined;
  name?: string | undefined;
  updated_after?: string | undefined;
}): ItemFilters {
  const { tag: wanted, updated_after: after, q, label, name: idOrSlug } = query;
  return { q, label, name: idOrSlug, tags: wanted, updatedAfter: after === undefined ? undefined : new Date(after) };
}
