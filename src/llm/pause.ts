import { setTimeout as sleep } from 'node:timers/promises';
import type { LlmLimits } from './limits.ts';

/**
 * Returns how long to wait before the next attempt, in ms. The endpoint's own wish counts, up to a
 * bound; otherwise the pause doubles, with full jitter (AWS Architecture Blog, "Exponential Backoff
 * And Jitter"), so that refused callers do not come back together.
 */
export function pauseMs(
  { attempt, headers }: { attempt: number; headers: Headers | undefined },
  limits: Pick<LlmLimits, 'retryAfterMsMax' | 'backoffMsMin' | 'backoffMsMax'>,
): number {
  const wished = headers === undefined ? undefined : wishedMs(headers);
  if (wished !== undefined) return Math.min(wished, limits.retryAfterMsMax);
  const ceiling = Math.min(limits.backoffMsMax, limits.backoffMsMin * 2 ** attempt);
  return limits.backoffMsMin / 2 + Math.random() * (ceiling - limits.backoffMsMin / 2);
}

/** Waits. Returns whether it waited to the end: an abort ends it early. */
export async function pause(ms: number, signal: AbortSignal): Promise<boolean> {
  return sleep(ms, true, { signal }).catch(() => false);
}

/** Reads `retry-after-ms`, else `Retry-After`: seconds or a date (RFC 9110, section 10.2.3). */
function wishedMs(headers: Headers): number | undefined {
  const ms = headers.get('retry-after-ms')?.trim();
  if (ms !== undefined && /^\d{1,9}(\.\d+)?$/.test(ms)) return Number(ms);
  const text = headers.get('retry-after')?.trim();
  if (text === undefined) return undefined;
  if (/^\d{1,9}(\.\d+)?$/.test(text)) return Number(text) * 1_000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now());
}
