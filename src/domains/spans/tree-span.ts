import type { TimedSpan } from '../../lib/span-tree.ts';
import type { LightSpan } from './light-span.ts';

/** A span and the clock that measured it; see `span-origins.ts`. */
export interface ClockedSpan extends TimedSpan, SkewOfSpan {
  hostKey: string;
  otelKind: number;
  flags: number;
}

export interface SkewOfSpan {
  /** Nanoseconds that were added to the span's times. */
  skewNano: bigint;
  /** Whether the skew would have been over a day, and is 0 for that reason. */
  skewRefused: boolean;
}

/** A span as hierarchy and timeline show it. */
export interface TreeSpan
  extends ClockedSpan,
    Pick<
      LightSpan,
      'kind' | 'name' | 'status' | 'service' | 'model' | 'usage' | 'costNanoUsd' | 'responseId' | 'prompt'
    > {
  ttftMs: number | null;
  scope: string;
  events: readonly { name: string; timeUnixNano: bigint }[];
  /** Warning codes, as stored. */
  warnings: readonly string[];
}
