import type { TimedSpan } from '../../../lib/span-tree.ts';
import type { Boundary } from './boundaries.ts';
import { later } from './self-time.ts';

export interface Gap {
  startUnixNano: bigint;
  endUnixNano: bigint;
  /** `dead`: no span is open; `root-only`: none but roots. */
  type: 'dead' | 'root-only';
}

const shortestNano = 1_000_000n;
/** Of the trace: 0.5 %. */
const shortestShare = 200n;

/** The longest possible intervals of a trace in which nothing, or nothing but a root, is open; those of at least 1 ms and 0.5 % of the trace. */
export function findGaps<S extends TimedSpan>(boundaries: readonly Boundary<S>[]): Gap[] {
  const traceNano = (boundaries.at(-1)?.atUnixNano ?? 0n) - (boundaries[0]?.atUnixNano ?? 0n);
  const gaps: Gap[] = [];
  const open = { roots: 0, others: 0 };
  let since = boundaries[0]?.atUnixNano ?? 0n;
  let type: Gap['type'] | undefined = 'dead';
  for (const { atUnixNano, type: boundary, node } of boundaries) {
    // Between boundaries of one instant anything may seem open, but for no time at all.
    if (type !== undefined && atUnixNano > since) extend(gaps, { startUnixNano: since, endUnixNano: atUnixNano, type });
    open[node.place === 'root' ? 'roots' : 'others'] += boundary === 'start' ? 1 : -1;
    type = open.others > 0 ? undefined : open.roots > 0 ? 'root-only' : 'dead';
    since = atUnixNano;
  }
  const leastNano = later(shortestNano, traceNano / shortestShare);
  return gaps.filter((gap) => gap.endUnixNano - gap.startUnixNano >= leastNano);
}

/** Pieces of one type that touch are one gap: a second root begins, or one step ends where the next begins. */
function extend(gaps: Gap[], piece: Gap): void {
  const last = gaps.at(-1);
  if (last?.type === piece.type && last.endUnixNano === piece.startUnixNano) last.endUnixNano = piece.endUnixNano;
  else gaps.push(piece);
}
