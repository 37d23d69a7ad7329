import { itemAt } from '../../lib/item-at.ts';
import type { Tree } from '../../lib/span-tree.ts';
import { isoFromUnixNano, msFromNano } from '../../lib/time.ts';
import type { TreeSpan } from '../spans/reads.ts';
import { knownCost } from '../summaries/index.ts';
import { costToWire, usageToWire } from './executions.schema.ts';
import type { TimelineWire } from './timeline.schema.ts';
import { timelineSpanToWire } from './timeline-span.ts';
import { boundariesOf } from './tree/boundaries.ts';
import { skewNanoMax } from './tree/correct-skew.ts';
import { criticalPath, longestTop, type Segment } from './tree/critical-path.ts';
import { findGaps } from './tree/find-gaps.ts';
import { layOutLanes } from './tree/lay-out-lanes.ts';
import { maxConcurrency } from './tree/max-concurrency.ts';
import { pickSpans, type SpanFilter } from './tree/pick-spans.ts';
import { treeWarnings } from './tree/place-spans.ts';
import { durationNano } from './tree/self-time.ts';
import { skewByHost } from './tree/skew-by-host.ts';
import { sumSubtrees, sumTotals } from './tree/sum-subtrees.ts';

/** The timeline of a trace without the fields that identify the trace. */
export type Timeline = Omit<TimelineWire, 'trace_id' | 'project_id' | 'truncated'> & { moreThanLimit: boolean };

/**
 * Lays out a whole trace of at least one span and returns the spans that `filter` selects. Offsets
 * count from the earliest corrected start.
 */
export function buildTimeline(tree: Tree<TreeSpan>, filter: SpanFilter, skewEnabled: boolean): Timeline {
  const { nodes, tops } = tree;
  const subtrees = sumSubtrees(tree);
  const total = sumTotals(tops.map(({ order }) => itemAt(subtrees, order)));
  const zero = total.startUnixNano;
  const boundaries = boundariesOf(nodes);
  const lanes = layOutLanes(tree, boundaries);
  const root = longestTop(tops);
  const path = root === undefined ? [] : criticalPath(root);
  const criticalNano = nanoBySpan(path);
  const { picked, more } = pickSpans(tree, filter);
  const ms = ({ startUnixNano, endUnixNano }: { startUnixNano: bigint; endUnixNano: bigint }) => ({
    start_ms: msFromNano(startUnixNano - zero),
    end_ms: msFromNano(endUnixNano - zero),
  });
  return {
    start_time: isoFromUnixNano(zero),
    end_time: isoFromUnixNano(total.endUnixNano),
    start_unix_nano: zero.toString(),
    duration_ms: msFromNano(durationNano(total)),
    root_duration_ms: root === undefined ? 0 : msFromNano(durationNano(root.span)),
    complete: tops.some(({ parentLink }) => parentLink === 'root'),
    span_count: nodes.length,
    returned: picked.length,
    depth_max: nodes.reduce((deepest, { depth }) => Math.max(deepest, depth), 0),
    lanes: lanes.reduce((most, lane) => Math.max(most, lane + 1), 0),
    max_concurrency: maxConcurrency(boundaries),
    error_count: total.errorCount,
    services: [...new Set(nodes.map(({ span }) => span.service))].filter((name) => name !== '').sort(),
    totals: {
      usage: usageToWire(total.used.usage),
      cost: costToWire(knownCost(total.used)),
      unpriced: total.used.unpricedSpans,
      unpriced_spans: total.used.unpricedSpans,
    },
    clock_skew: { enabled: skewEnabled, max_ms: msFromNano(skewNanoMax), ...skewByHost(nodes.map(({ span }) => span)) },
    critical_path: {
      duration_ms: msFromNano([...criticalNano.values()].reduce((sum, nano) => sum + nano, 0n)),
      segments: path.map((segment) => ({ span_id: segment.spanId, ...ms(segment) })),
    },
    gaps: findGaps(boundaries).map(({ type, ...gap }) => ({ ...ms(gap), type })),
    warnings: treeWarnings(tree),
    spans: picked.map((node) =>
      timelineSpanToWire(node, {
        zero,
        traceNano: durationNano(total),
        lane: itemAt(lanes, node.order),
        criticalNano: criticalNano.get(node.span.spanId),
      }),
    ),
    moreThanLimit: more,
  };
}

/** Returns the nanoseconds of the critical path that each span on it contributes, by span id. */
function nanoBySpan(path: readonly Segment[]): Map<string, bigint> {
  const nano = new Map<string, bigint>();
  for (const segment of path) nano.set(segment.spanId, (nano.get(segment.spanId) ?? 0n) + durationNano(segment));
  return nano;
}
