import { z } from 'zod';
import { listOf, pageParams } from '../../http/pagination.ts';
import { integerParam, listParam } from '../../http/query.ts';
import { partNames } from '../spans/reads.ts';
import { type ShownPart, shownParts } from './read-logs.ts';
import { partCharsMax } from './read-span-page.ts';
import { spanSchema } from './span.schema.ts';

/** Query parameter that names the span parts to answer. */
export const include = listParam()
  .prefault(partNames.join())
  .pipe(z.array(z.enum(shownParts)))
  .transform((parts): ReadonlySet<ShownPart> => new Set(parts))
  .meta({
    description: `Comma-separated list of the span parts to return, from ${shownParts.join(', ')}; default: all but logs`,
    example: 'input,output',
  });

export const listSpansQuery = z.strictObject({
  cursor: pageParams.cursor.meta({
    description: '`next_cursor` of the previous page, or `spans_next_cursor` of the execution',
  }),
  limit: integerParam({ min: 1, max: 1_000 }).default(100).meta({
    description: 'The largest number of spans on a page. A page that would exceed 8 MiB has fewer',
  }),
  include,
});

export const spanPageSchema = listOf(spanSchema);

export const getSpanQuery = z.strictObject({
  part_chars_max: integerParam({ min: 1_000, max: partCharsMax }).default(partCharsMax).meta({
    description: 'Largest length of a part as JSON text, in UTF-16 units. `large_parts` names the longer parts instead',
  }),
});

export const getSpanPartQuery = z.strictObject({
  offset: integerParam({ min: 0, max: Number.MAX_SAFE_INTEGER })
    .default(0)
    .meta({ description: 'Position in the JSON text at which the slice begins, in UTF-16 units' }),
  limit: integerParam({ min: 1, max: partCharsMax })
    .default(100_000)
    .meta({ description: 'The largest length of the slice, in UTF-16 units' }),
});

export const spanPartSchema = z
  .object({
    part: z.enum(shownParts),
    total_chars: z.number().int().meta({ description: 'Length of the whole JSON text, in UTF-16 units' }),
    offset: z.number().int().meta({
      description:
        'Position at which `text` begins. It is one less than requested if the requested position splits a surrogate pair',
    }),
    text: z.string().meta({ description: 'A slice of the JSON text of the part' }),
    next_offset: z.number().int().nullable().meta({ description: 'Position of the next slice; null at the end' }),
  })
  .meta({ id: 'SpanPart' });
