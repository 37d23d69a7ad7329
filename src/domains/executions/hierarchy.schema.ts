import { z } from 'zod';
import { executionSchema, usageSchema } from './executions.schema.ts';
import { spanSchema } from './span.schema.ts';

const { cost } = executionSchema.shape;

const subtreeTotals = z
  .object({
    span_count: z.number().int(),
    error_count: z.number().int(),
    usage: usageSchema,
    cost,
    unpriced_spans: z.number().int(),
    duration_ms: z.number().meta({ description: 'From the earliest start to the latest end' }),
  })
  .meta({ id: 'SubtreeTotals', description: 'Totals of the span and all its descendants. Nothing is counted twice' });

const node = z.object({
  span_id: z.string(),
  parent_span_id: z
    .string()
    .nullable()
    .meta({ description: 'Null for a root span, and where a cycle of parents was cut' }),
  name: z.string().nullable(),
  kind: z.string(),
  otel_kind: z.string(),
  service: z.string().nullable(),
  status: spanSchema.shape.status,
  started_at: z.iso.datetime().nullable().meta({ description: 'The start time as sent; null for a synthetic node' }),
  duration_ms: z.number().nullable(),
  self_ms: z.number().nullable().meta({ description: 'Time in which no child span ran' }),
  skew_ms: z
    .number()
    .meta({ description: 'How far the clock of the host was behind. Times are compared after this value is added' }),
  depth: z.number().int(),
  model: z.string().nullable(),
  usage: usageSchema.nullable().meta({ description: 'Usage of the span itself' }),
  cost: cost.meta({ description: 'Cost of the span itself' }),
  prompt_ref: spanSchema.shape.prompt_ref,
  orphan: z.boolean().meta({ description: 'Whether the parent of the span has not arrived' }),
  synthetic: z.boolean().meta({ description: 'Whether the node is a placeholder for a parent that has not arrived' }),
  totals: subtreeTotals,
});

export type HierarchyNode = z.infer<typeof node>;

export interface NestedNode extends HierarchyNode {
  children: NestedNode[];
}

const nestedNode: z.ZodType<NestedNode> = node
  .extend({ children: z.lazy(() => z.array(nestedNode)) })
  .meta({ id: 'ExecutionNode' });

const flatNode = node
  .extend({
    child_ids: z.array(z.string()),
    parent_index: z.number().int().nullable().meta({ description: 'The index of its parent in `nodes`' }),
  })
  .meta({ id: 'FlatExecutionNode' });

const common = {
  trace_id: z.string(),
  project_id: z.string(),
  span_count: z.number().int(),
  complete: z.boolean().meta({ description: 'Whether a root span, a span without a parent, has arrived' }),
  truncated: z.boolean().meta({ description: 'Whether the trace has more spans than the service reads of one trace' }),
  warnings: z.array(z.string()).meta({ description: 'Warnings. Each text begins with the code of the warning' }),
};

export const hierarchySchema = z.discriminatedUnion('format', [
  z.object({ ...common, format: z.literal('nested'), roots: z.array(nestedNode) }).meta({ id: 'NestedHierarchy' }),
  z
    .object({
      ...common,
      format: z.literal('flat'),
      root_ids: z.array(z.string()),
      nodes: z.array(flatNode).meta({ description: 'All nodes in depth-first order' }),
    })
    .meta({ id: 'FlatHierarchy' }),
]);

export type FlatNode = z.infer<typeof flatNode>;
export type HierarchyWire = z.infer<typeof hierarchySchema>;
