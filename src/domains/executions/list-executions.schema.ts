import { z } from 'zod';
import { quote } from '../../http/faults.ts';
import { listOf, pageParams } from '../../http/pagination.ts';
import { booleanParam, listParam } from '../../http/query.ts';
import { closest } from '../../lib/closest.ts';
import { executionSchema } from './executions.schema.ts';
import { sortNames } from './filters/execution-fields.ts';
import { filterParams } from './filters/filter-parameters.ts';

type SummaryField = keyof typeof executionSchema.shape;
const summaryFields = Object.keys(executionSchema.shape) as SummaryField[];

const time = z.iso.datetime({ offset: true }).optional();

/** Unknown names that are reported. A suggestion for one takes up to 0.2 ms. */
const reportedMax = 10;

const fields = listParam()
  .transform((names, context) => {
    const known = names.flatMap((name) => summaryFields.find((field) => field === name) ?? []);
    if (known.length === names.length) return known;
    const unknown = names.filter((name) => !known.some((field) => field === name));
    for (const name of unknown.slice(0, reportedMax)) {
      const near = closest(name, summaryFields);
      const hint = near ? `did you mean ${quote(near)}?` : `the fields are ${summaryFields.join(', ')}`;
      context.addIssue({ code: 'custom', message: `${quote(name)} does not exist; ${hint}`, input: names.join() });
    }
    return z.NEVER;
  })
  .optional()
  .meta({
    example: 'trace_id,name,cost',
    description: `Comma-separated list of the fields to return for each execution, from ${summaryFields.join(', ')}; default: all`,
  });

export const listExecutionsQuery = z.strictObject({
  ...pageParams,
  from: time.meta({ description: 'Executions that started at or after this time; default: seven days before `to`' }),
  to: time.meta({ description: 'Executions that started before this time; default: now' }),
  ...filterParams,
  sort: z
    .enum(sortNames)
    .default('-started_at')
    .meta({ description: 'The order of the list. Null values come last in both directions' }),
  fields,
  include_total: booleanParam()
    .default(false)
    .meta({ description: 'Whether to add `page.total`, the number of items on all pages' }),
});

export const executionPageSchema = listOf(
  executionSchema.partial().meta({
    id: 'ExecutionSummary',
    description: 'The execution with every field, or with the fields that `fields` names',
  }),
).extend({ window: z.object({ from: z.iso.datetime(), to: z.iso.datetime() }) });
