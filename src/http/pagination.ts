import { z } from 'zod';
import { integerParam } from './query.ts';

/** Query parameters of every list, to be spread into its query schema. */
export const pageParams = {
  limit: integerParam({ min: 1, max: 100 }).default(20).meta({ description: 'The largest number of items on a page' }),
  cursor: z.string().max(2_000).optional().meta({
    description: '`next_cursor` of the previous page. It is valid only with the same filters',
    example: 'AbCdEf0123456789',
  }),
};

const page = z
  .object({
    next_cursor: z.string().nullable().meta({ example: 'AbCdEf0123456789' }),
    has_more: z.boolean(),
    limit: z.int(),
    total: z.int().optional(),
  })
  .meta({ id: 'Page' });

/** Returns the response schema of a list. */
export function listOf<S extends z.ZodType>(item: S) {
  return z.object({ data: z.array(item), page });
}

/**
 * Builds the response of a list from rows that were read with `LIMIT limit + 1`. The extra row only
 * shows that there is a next page.
 * @param cursorAfter returns the cursor that continues after a row
 */
export function toPage<Row, Item>(
  rows: readonly Row[],
  limit: number,
  toItem: (row: Row) => Item,
  cursorAfter: (row: Row) => string,
) {
  const given = { rows: rows.slice(0, limit), hasMore: rows.length > limit };
  return pageOf(given, limit, toItem, cursorAfter);
}

/**
 * Builds the response of a list whose pages may end before `limit`.
 * @param given the rows of the page, and whether others follow
 * @param cursorAfter returns the cursor that continues after a row
 */
export function pageOf<Row, Item>(
  given: { rows: readonly Row[]; hasMore: boolean },
  limit: number,
  toItem: (row: Row) => Item,
  cursorAfter: (row: Row) => string,
) {
  const last = given.rows.at(-1);
  const hasMore = given.hasMore && last !== undefined;
  return {
    data: given.rows.map(toItem),
    page: { next_cursor: hasMore ? cursorAfter(last) : null, has_more: hasMore, limit },
  };
}
