import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { listOf, pageParams, toPage } from '../../../src/http/pagination.ts';

/** What a store does: rows after a position, one more than asked for. */
const readAfter = (rows: readonly number[], after: number, limit: number) =>
  rows.filter((row) => row > after).slice(0, limit + 1);

test('walking all pages of a list gives every row once, in order, and ends with has_more false', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat()), fc.integer({ min: 1, max: 10 }), (unsorted, limit) => {
      const rows = unsorted.sort((a, b) => a - b);
      const seen: number[] = [];
      for (let after: string | null = '-1', pages = 0; after !== null && pages <= rows.length; pages++) {
        const page: ReturnType<typeof toPage<number, number>> = toPage(
          readAfter(rows, Number(after), limit),
          limit,
          Number,
          String,
        );
        expect(listOf(z.number()).parse(page)).toEqual(page);
        expect(page.page.has_more).toBe(page.page.next_cursor !== null);
        seen.push(...page.data);
        after = page.page.next_cursor;
      }
      expect(seen).toEqual(rows);
    }),
  );
});

test('limit is 20 when absent', () => {
  expect(z.strictObject(pageParams).parse({})).toEqual({ limit: 20 });
});
