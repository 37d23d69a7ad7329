import type { LightSpan } from './light-span.ts';
import type { ClockedSpan } from './tree/correct-skew.ts';

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
  /** Codes, as stored. */
  warnings: readonly string[];
}
