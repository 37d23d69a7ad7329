import { z } from 'zod';
import { pageParams } from '../../http/pagination.ts';
import { integerParam, repeatedParam } from '../../http/query.ts';
import { tag } from './item-input.schema.ts';
import { type ItemFilters, itemSorts, wordsOf } from './item-list-store.ts';
import { versionMax } from './params.schema.ts';

const wordsMax = 10;

export const versionParam = integerParam({ min: 1, max: versionMax }).meta({ description: 'A version', example: 3 });

export const listQuery = {
  ...pageParams,
  q: z
    .string()
    .max(200)
    .refine((q) => wordsOf(q).length <= wordsMax, `must have at most ${wordsMax} words`)
    .optional()
    .meta({
      description: 'Words, at most ten, that the name, the slug or the description must contain',
      example: 'support',
    }),
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
