import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { buildHierarchy, flatten, nest } from './build-hierarchy.ts';
import { checkedTraceId, unknownExecution } from './execution-not-found.ts';
import type { HierarchyWire } from './hierarchy.schema.ts';
import { placeSpans, treeWarnings } from './tree/place-spans.ts';
import { findTreeSpans } from './tree-span-queries.ts';

/** Engines and parsers recurse into JSON, so deeper trees are answered flat. */
export const nestedLevelsMax = 1_000;

/** One execution as a tree. Throws NotFoundError, and UnavailableError while the trace store is away. */
export async function getHierarchy(
  deps: { clickhouse: ClickHouse },
  input: { projectId: string; traceId: string; format: HierarchyWire['format'] },
): Promise<HierarchyWire> {
  const traceId = checkedTraceId(input.traceId);
  const { spans, truncated } = await findTreeSpans(deps.clickhouse, input.projectId, traceId);
  if (spans.length === 0) throw unknownExecution();
  const tree = placeSpans(spans, { skew: true });
  const items = buildHierarchy(tree);
  const levels = items.reduce((deepest, { fields }) => Math.max(deepest, fields.depth + 1), 0);
  const tooDeep = input.format === 'nested' && levels > nestedLevelsMax;
  const common = {
    trace_id: traceId,
    project_id: input.projectId,
    span_count: spans.length,
    complete: tree.tops.some(({ place }) => place === 'root'),
    truncated,
    warnings: [
      ...treeWarnings(tree),
      ...(tooDeep ? [`nesting_too_deep: ${levels} levels, over ${nestedLevelsMax}; answered flat`] : []),
    ],
  };
  if (input.format === 'nested' && !tooDeep) return { ...common, format: 'nested', roots: nest(items) };
  const roots = items.filter(({ parentIndex }) => parentIndex === null);
  return { ...common, format: 'flat', root_ids: roots.map(({ fields }) => fields.span_id), nodes: flatten(items) };
}
