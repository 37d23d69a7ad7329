import type { TimedSpan, Tree, TreeNode } from '../../../lib/span-tree.ts';
import type { ClockedSpan, SkewOfSpan } from '../../spans/index.ts';
import { isHandedOver, otelKinds } from './otel-kinds.ts';

/** A day: clocks further apart are wrong in a way that moving spans does not mend. */
export const skewNanoMax = 86_400_000_000_000n;

/**
 * How far to move every span, by its order in the tree, so that calls between hosts nest. Jaeger's algorithm (jaegerquery/internal/adjuster/
 * clockskew.go), but an edge counts only when it looks remote and both ends name different hosts: many SDKs name none.
 */
export function correctSkew<S extends ClockedSpan>(tree: Tree<S>): SkewOfSpan[] {
  const clocks: Clock[] = [];
  for (const node of tree.nodes) clocks.push(clockOf(node, clocks));
  return clocks;
}

/** Host and shift that a span's children start from. */
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

/** Flags of OTLP: whether the parent is known to be remote or local, and that it is remote. */
const remoteParent = 0x300;
const callers: ReadonlySet<number> = new Set([otelKinds.client, otelKinds.producer]);
const callees: ReadonlySet<number> = new Set([otelKinds.server, otelKinds.consumer]);

function looksRemote(parent: ClockedSpan, child: ClockedSpan): boolean {
  if ((child.flags & remoteParent) === remoteParent) return true;
  return callers.has(parent.otelKind) && callees.has(child.otelKind);
}

/** The parent has been moved already; what the call took on the way is split evenly between there and back. */
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
