import { z } from 'zod';
import type { ItemKind } from './kind.ts';
import { itemLimits, labelName, versionNumber } from './params.schema.ts';
import { isReserved, slugPattern } from './slug.ts';

export const tag = z.string().trim().min(1).max(100);
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
