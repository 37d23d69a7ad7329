import type { TreeNode } from '../../lib/span-tree.ts';
import { msFromNano } from '../../lib/time.ts';
import type { TreeSpan } from '../spans/reads.ts';
import { costToWire, usageToWire } from './executions.schema.ts';
import { otelKindName, promptToWire } from './span.schema.ts';
import type { TimelineSpanWire } from './timeline.schema.ts';
import { placeWarnings } from './tree/place-spans.ts';
import { durationNano, selfTimeNano } from './tree/self-time.ts';

/** Values of the whole trace that are needed to show one of its spans. */
export interface TraceLayout {
  zero: bigint;
  traceNano: bigint;
  lane: number;
  /** Undefined for a span that is not on the critical path. */
  criticalNano: bigint | undefined;
}

/** Converts a span of the tree to its API JSON in a timeline. */
export function timelineSpanToWire(node: TreeNode<TreeSpan>, layout: TraceLayout): TimelineSpanWire {
  const { span, parentLink } = node;
  const startNano = span.startUnixNano - layout.zero;
  return {
    span_id: span.spanId,
    parent_span_id: parentLink === 'cut' ? null : span.parentSpanId || null,
    name: span.name,
    kind: span.kind,
    otel_kind: otelKindName(span.otelKind),
    service: span.service || null,
    scope: span.scope || null,
    status: span.status,
    start_ms: msFromNano(startNano),
    end_ms: msFromNano(span.endUnixNano - layout.zero),
    duration_ms: msFromNano(durationNano(span)),
    self_ms: msFromNano(selfTimeNano(node)),
    left_pct: percent(startNano, layout.traceNano),
    width_pct: percent(durationNano(span), layout.traceNano),
    depth: node.depth,
    lane: layout.lane,
    order: node.order,
    child_count: node.children.length,
    is_root: parentLink === 'root',
    is_orphan: parentLink === 'orphan',
    on_critical_path: layout.criticalNano !== undefined,
    critical_ms: msFromNano(layout.criticalNano ?? 0n),
    skew_ms: msFromNano(span.skewNano),
    raw_start_unix_nano: (span.startUnixNano - span.skewNano).toString(),
    ttft_ms: span.ttftMs,
    model: span.model || null,
    usage: span.usage && usageToWire(span.usage),
    cost: costToWire(span.costNanoUsd),
    prompt_ref: promptToWire(span.prompt),
    events: span.events.map((event) => ({ name: event.name, offset_ms: offsetMs(event, span.skewNano, layout.zero) })),
    warnings: [...span.warnings, ...placeWarnings(node)],
  };
}

function offsetMs({ timeUnixNano }: { timeUnixNano: bigint }, skewNano: bigint, zero: bigint): number | null {
  return timeUnixNano === 0n ? null : msFromNano(timeUnixNano + skewNano - zero);
}

/** Returns a share in percent. It is 0 when the trace has no duration. */
function percent(partNano: bigint, wholeNano: bigint): number {
  return wholeNano === 0n ? 0 : (Number(partNano) / Number(wholeNano)) * 100;
}
