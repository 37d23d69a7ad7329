import type { TimedSpan } from '../../../lib/span-tree.ts';
import type { Boundary } from './boundaries.ts';
import { later } from './self-time.ts';

export interface Gap {
  startUnixNano: bigint;
  endUnixNano: bigint;
  /** `dead`: no span is open; `root-only`: only root spans are open. */
  type: 'dead' | 'root-only';
}

const shortestNano = 1_000_000n;
/** Divisor for the shortest share of the trace: 0.5 %. */
const shortestShare = 200n;

/**
 * Returns the longest intervals of a trace in which no span, or only root spans, are open. An
 * interval counts from 1 ms and 0.5 % of the trace on.
 */
export function findGaps<S extends TimedSpan>(boundaries: readonly Boundary<S>[]): Gap[] {
  const traceNano = (boundaries.at(-1)?.atUnixNano ?? 0n) - (boundaries[0]?.atUnixNano ?? 0n);
  const gaps: Gap[] = [];
  const open = { roots: 0, others: 0 };
  let since = boundaries[0]?.atUnixNano ?? 0n;
  let type: Gap['type'] | undefined = 'dead';
  for (const { atUnixNano, type: boundary, node } of boundaries) {
    // Between two boundaries at the same instant the state is not final, but it lasts for no time.
    if (type !== undefined && atUnixNano > since) extend(gaps, { startUnixNano: since, endUnixNano: atUnixNano, type });
    open[node.parentLink === 'root' ? 'roots' : 'others'] += boundary === 'start' ? 1 : -1;
    type = open.others > 0 ? undefined : open.roots > 0 ? 'root-only' : 'dead';
    since = atUnixNano;
  }
  const leastNano = later(shortestNano, traceNano / shortestShare);
  return gaps.filter((gap) => gap.endUnixNano - gap.startUnixNano >= leastNano);
}

/**
 * Appends an interval. It extends the last gap if both touch and have the same type, as when a
 * second root begins or one step ends where the next begins.
 */
function extend(gaps: Gap[], piece: Gap): void {
  const last = gaps.at(-1);
  if (last?.type === piece.type && last.endUnixNano === piece.startUnixNano) last.endUnixNano = piece.endUnixNano;
  else gaps.push(piece);
}
