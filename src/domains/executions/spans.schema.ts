import { z } from 'zod';
import { listOf, pageParams } from '../../http/pagination.ts';
import { integerParam } from '../../http/query.ts';
import { partNames, type SpanPart } from '../spans/index.ts';
import { partCharsMax } from './read-span-page.ts';
import { spanSchema } from './span.schema.ts';

/** Query parameter that names the span parts to answer. */
export const include = z
  .string()
  .default(partNames.join())
  .transform((text) => text.split(','))
  .pipe(z.array(z.enum(partNames)))
  .transform((parts): ReadonlySet<SpanPart> => new Set(parts))
  .meta({
    description: `Comma list of the span parts to answer, of ${partNames.join(', ')}; default all`,
    example: 'input,output',
  });

export const listSpansQuery = z.strictObject({
  cursor: pageParams.cursor.meta({ description: '`next_cursor` of the page before, or `spans_next_cursor`' }),
  limit: integerParam({ min: 1, max: 1_000 }).default(100).meta({
    description: 'How many spans a page holds at most; one of over 8 MiB holds fewer',
  }),
  include,
});

export const spanPageSchema = listOf(spanSchema);

export const getSpanQuery = z.strictObject({
  part_chars_max: integerParam({ min: 1_000, max: partCharsMax })
    .default(partCharsMax)
    .meta({ description: 'Parts whose JSON text is longer, in UTF-16 units, are named in `large_parts` instead' }),
});

export const getSpanPartQuery = z.strictObject({
  offset: integerParam({ min: 0, max: Number.MAX_SAFE_INTEGER })
    .default(0)
    .meta({ description: 'Where to begin in the JSON text, in UTF-16 units' }),
  limit: integerParam({ min: 1, max: partCharsMax })
    .default(100_000)
    .meta({ description: 'How many UTF-16 units of it to answer at most' }),
});

export const spanPartSchema = z.object({
  part: z.enum(partNames),
  total_chars: z.number().int().meta({ description: 'Of the whole JSON text, in UTF-16 units' }),
  offset: z
    .number()
    .int()
    .meta({ description: 'Where `text` begins; one less than asked for within a pair of surrogates' }),
  text: z.string().meta({ description: 'A slice of the JSON text of the part' }),
  next_offset: z.number().int().nullable().meta({ description: 'Where to go on; null at the end' }),
});
