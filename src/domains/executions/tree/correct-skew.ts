import type { TimedSpan, Tree, TreeNode } from '../../../lib/span-tree.ts';
import type { ClockedSpan, SkewOfSpan } from '../../spans/reads.ts';
import { isHandedOver, otelKinds } from './otel-kinds.ts';

/** One day. When clocks differ by more, moving the spans would not repair the trace. */
export const skewNanoMax = 86_400_000_000_000n;

/**
 * Returns how far to move every span so that calls between hosts nest, by the span's order in the
 * tree. Uses Jaeger's algorithm (jaegerquery/internal/adjuster/clockskew.go), but corrects an edge
 * only if it looks remote and both ends name different hosts, because many SDKs name none.
 */
export function correctSkew<S extends ClockedSpan>(tree: Tree<S>): SkewOfSpan[] {
  const clocks: Clock[] = [];
  for (const node of tree.nodes) clocks.push(clockOf(node, clocks));
  return clocks;
}

/** The host of a span and its shift, which its children inherit. */
interface Clock extends SkewOfSpan {
  hostKey: string;
}

const unmoved = { skewNano: 0n, skewRefused: false };

function clockOf<S extends ClockedSpan>({ span, parent }: TreeNode<S>, clocks: readonly Clock[]): Clock {
  const above = parent && clocks[parent.order];
  if (parent === undefined || above === undefined) return { ...unmoved, hostKey: span.hostKey };
  const hostKey = span.hostKey || above.hostKey;
  const inherited = { hostKey, skewNano: above.skewNano, skewRefused: false };
  if (hostKey === above.hostKey || above.hostKey === '') return inherited;
  if (isHandedOver(parent.span, span)) return { ...unmoved, hostKey };
  if (!looksRemote(parent.span, span)) return inherited;
  const skewNano = skewOf(span, parent.span, above.skewNano);
  if (magnitude(skewNano) > skewNanoMax) return { hostKey, skewNano: 0n, skewRefused: true };
  return { hostKey, skewNano, skewRefused: false };
}

/** OTLP span flags: HAS_IS_REMOTE (0x100) and IS_REMOTE (0x200). */
const remoteParent = 0x300;
const callers: ReadonlySet<number> = new Set([otelKinds.client, otelKinds.producer]);
const callees: ReadonlySet<number> = new Set([otelKinds.server, otelKinds.consumer]);

function looksRemote(parent: ClockedSpan, child: ClockedSpan): boolean {
  if ((child.flags & remoteParent) === remoteParent) return true;
  return callers.has(parent.otelKind) && callees.has(child.otelKind);
}

/**
 * Returns the shift of a child whose parent has been shifted already. The time spent on the way is
 * split evenly between request and response.
 */
function skewOf(child: TimedSpan, parent: TimedSpan, parentSkewNano: bigint): bigint {
  const parentStart = parent.startUnixNano + parentSkewNano;
  const parentEnd = parent.endUnixNano + parentSkewNano;
  const { startUnixNano: start, endUnixNano: end } = child;
  const spareNano = parentEnd - parentStart - (end - start);
  if (spareNano < 0n) return start < parentStart ? parentStart - start : 0n;
  if (start >= parentStart && end <= parentEnd) return 0n;
  return parentStart + spareNano / 2n - start;
}

function magnitude(nano: bigint): bigint {
  return nano < 0n ? -nano : nano;
}
