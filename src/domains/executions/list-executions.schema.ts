import { z } from 'zod';
import { quote } from '../../http/faults.ts';
import { listOf, pageParams } from '../../http/pagination.ts';
import { booleanParam } from '../../http/query.ts';
import { closest } from '../../lib/closest.ts';
import { executionSchema } from './executions.schema.ts';
import { sortNames } from './filters/execution-fields.ts';
import { filterParams } from './filters/filter-parameters.ts';

type SummaryField = keyof typeof executionSchema.shape;
const summaryFields = Object.keys(executionSchema.shape) as SummaryField[];

const time = z.iso.datetime({ offset: true }).optional();

const fields = z
  .string()
  .transform((text, context) =>
    text.split(',').map((name): SummaryField => {
      const known = summaryFields.find((field) => field === name);
      if (known !== undefined) return known;
      const near = closest(name, summaryFields);
      const hint = near ? `did you mean ${quote(near)}?` : `known are ${summaryFields.join(', ')}`;
      context.addIssue({ code: 'custom', message: `${quote(name)} does not exist; ${hint}`, input: text });
      return z.NEVER;
    }),
  )
  .optional()
  .meta({
    example: 'trace_id,name,cost',
    description: `Comma list of what to answer of each execution, of ${summaryFields.join(', ')}; default all`,
  });

export const listExecutionsQuery = z.strictObject({
  ...pageParams,
  from: time.meta({ description: 'Started at or after; default seven days before `to`' }),
  to: time.meta({ description: 'Started before; default now' }),
  ...filterParams,
  sort: z.enum(sortNames).default('-started_at').meta({ description: 'Nulls come last either way' }),
  fields,
  include_total: booleanParam().default(false).meta({ description: 'Adds `page.total`, of all pages' }),
});

export const executionPageSchema = listOf(
  executionSchema.partial().meta({ description: 'With every field, unless `fields` says which' }),
).extend({ window: z.object({ from: z.iso.datetime(), to: z.iso.datetime() }) });
