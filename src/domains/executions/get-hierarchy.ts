import { buildHierarchy, flatten, nest } from './build-hierarchy.ts';
import { cutWarnings, type FindTraceDeps, findTrace } from './find-trace.ts';
import type { HierarchyWire } from './hierarchy.schema.ts';
import { placeSpans, treeWarnings } from './tree/place-spans.ts';

/**
 * Deeper trees are answered flat, because JavaScript engines and JSON parsers use recursion for
 * nested JSON.
 */
const nestedLevelsMax = 1_000;

/**
 * Returns one execution as a tree.
 * @throws NotFoundError when the trace has no spans
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function getHierarchy(
  deps: FindTraceDeps,
  input: { projectId: string; traceId: string; format: HierarchyWire['format'] },
): Promise<HierarchyWire> {
  const trace = await findTrace(deps, input, { events: false });
  const { traceId, spans, truncated } = trace;
  const tree = placeSpans(spans, { skew: true });
  const items = buildHierarchy(tree);
  const levels = items.reduce((deepest, { fields }) => Math.max(deepest, fields.depth + 1), 0);
  const tooDeep = input.format === 'nested' && levels > nestedLevelsMax;
  const common = {
    trace_id: traceId,
    project_id: input.projectId,
    span_count: spans.length,
    complete: tree.tops.some(({ parentLink }) => parentLink === 'root'),
    truncated,
    warnings: [
      ...cutWarnings(trace),
      ...treeWarnings(tree),
      ...(tooDeep
        ? [
            `nesting_too_deep: the tree has ${levels} levels, more than the limit of ${nestedLevelsMax}. The response is flat`,
          ]
        : []),
    ],
  };
  if (input.format === 'nested' && !tooDeep) return { ...common, format: 'nested', roots: nest(items) };
  const roots = items.filter(({ parentIndex }) => parentIndex === null);
  return { ...common, format: 'flat', root_ids: roots.map(({ fields }) => fields.span_id), nodes: flatten(items) };
}
