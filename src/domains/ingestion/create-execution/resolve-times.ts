import { readIsoTime } from '../../../otlp/iso-time.ts';
import type { SpanBody } from './execution-body.ts';

export interface Times {
  startUnixNano: bigint;
  endUnixNano: bigint;
}

type GivenTimes = Pick<SpanBody, 'started_at' | 'ended_at' | 'duration_ms'>;

const nanosPerMs = 1e6;

/** The last time that 64 bits of nanoseconds, as OTLP has them, can express. */
export const lastTime = '2554-07-21T23:34:33.709551615Z';

/** Returns whether OTLP can express both times. */
export function areWithin64Bits({ startUnixNano, endUnixNano }: Times): boolean {
  return BigInt.asUintN(64, startUnixNano) === startUnixNano && BigInt.asUintN(64, endUnixNano) === endUnixNano;
}

/**
 * Fills in missing times. `around` is the current time for an execution, which ends now by default;
 * for a span it is the times of its execution. A given time never moves: if a default would put
 * the end before the start, both become the given time. A duration may lead beyond 64 bits; see
 * {@link areWithin64Bits}.
 */
export function resolveTimes(given: GivenTimes, around: bigint | Times): Times {
  const start = readIsoTime(given.started_at ?? '');
  const end = readIsoTime(given.ended_at ?? '');
  const duration = durationNano(given.duration_ms);
  if (start !== undefined && duration !== undefined) return { startUnixNano: start, endUnixNano: start + duration };
  if (typeof around === 'bigint') {
    const endUnixNano = end ?? later(around, start);
    return { startUnixNano: start ?? endUnixNano - (duration ?? 0n), endUnixNano };
  }
  const startUnixNano = start ?? earlier(around.startUnixNano, end);
  if (duration !== undefined) return { startUnixNano, endUnixNano: startUnixNano + duration };
  return { startUnixNano, endUnixNano: end ?? later(around.endUnixNano, start) };
}

function durationNano(ms: number | null | undefined): bigint | undefined {
  return ms === undefined || ms === null ? undefined : BigInt(Math.round(ms * nanosPerMs));
}

function later(a: bigint, b: bigint | undefined): bigint {
  return b === undefined || a > b ? a : b;
}

function earlier(a: bigint, b: bigint | undefined): bigint {
  return b === undefined || a < b ? a : b;
}
