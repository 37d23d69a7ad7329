import { MalformedError } from '../../lib/errors.ts';
import { canonicalTimeZone, endOfTimesMs } from '../../lib/time.ts';
import { within } from '../../lib/within.ts';
import {
  autoGranularity,
  bucketStarts,
  bucketsMax,
  type Granularity,
  hasFewBuckets,
  nextStart,
  type Window,
} from './buckets.ts';

const dayMs = 24 * 60 * 60_000;
const defaultWindowMs = 7 * dayMs;
const windowDaysMax = 366;
const queueWaitMsMax = 500;

/** The window that a caller requests. */
export interface WindowQuery {
  from?: string | undefined;
  to?: string | undefined;
  granularity: Granularity | 'auto';
  tz: string;
}

/** A window with its buckets. */
export interface Buckets {
  window: Window;
  granularity: Granularity;
  /** Start of each bucket in ms since the epoch. */
  starts: readonly number[];
  /** Whether the window or the present cuts the bucket that starts at this time. */
  isPartial: (startMs: number) => boolean;
}

/**
 * Returns the buckets of a requested window.
 * @throws MalformedError for a window that is empty or too long, or has too many buckets
 */
export function bucketsOf(query: WindowQuery, nowMs: number): Buckets {
  const window = windowOf(query, nowMs);
  const granularity = query.granularity === 'auto' ? autoGranularity(window) : query.granularity;
  if (!hasFewBuckets(window, granularity)) {
    throw refused(
      'granularity',
      `gives too many buckets: at most ${bucketsMax} are allowed. Use a longer granularity or a shorter window`,
    );
  }
  const endMs = Math.min(window.toMs, nowMs);
  const zone = canonicalTimeZone(query.tz) ?? 'UTC';
  const starts = bucketStarts(window, granularity, zone);
  const isCut = (startMs: number, index: number) =>
    startMs < window.fromMs || (starts[index + 1] ?? nextStart(startMs, granularity, zone)) > endMs;
  const partial = new Set(starts.filter(isCut));
  return { window, granularity, starts, isPartial: (startMs) => partial.has(startMs) };
}

/** Converts a window to its API JSON. */
export function windowToWire({ fromMs, toMs }: Window): { from: string; to: string } {
  return { from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() };
}

/**
 * Returns the time before which everything that was received is stored. Null while the queue cannot
 * be read or is too long to be examined, because reads do not need it otherwise.
 */
export async function readDataAsOf(
  oldestUnstoredMs: () => Promise<number | undefined>,
  nowMs: number,
): Promise<string | null> {
  try {
    const asOfMs = Math.min((await within(queueWaitMsMax, oldestUnstoredMs)) ?? nowMs, nowMs);
    return new Date(asOfMs).toISOString();
  } catch {
    return null;
  }
}

/** Creates the error for a parameter that cannot be used. */
export function refused(path: string, message: string): MalformedError {
  return new MalformedError('invalid_parameter', `${path} ${message}`, {
    errors: [{ path, code: 'invalid_parameter', message }],
  });
}

function windowOf({ from, to }: WindowQuery, nowMs: number): Window {
  const toMs = to === undefined ? nowMs : Date.parse(to);
  const fromMs = from === undefined ? toMs - defaultWindowMs : Date.parse(from);
  if (fromMs >= toMs) throw refused('from', 'must be before `to`');
  if (fromMs < 0) throw refused('from', 'must be 1970 or later');
  if (toMs > endOfTimesMs) throw refused('to', 'must be before 2554');
  if (toMs - fromMs > windowDaysMax * dayMs)
    throw refused('from', `must be at most ${windowDaysMax} days before \`to\``);
  return { fromMs, toMs };
}
