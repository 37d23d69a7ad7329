import { DateTime, IANAZone } from 'luxon';
import { canonicalTimeZone } from '../../lib/time.ts';

export const granularities = ['minute', 'hour', 'day', 'week'] as const;
export type Granularity = (typeof granularities)[number];

/** Buckets of one answer. */
export const bucketsMax = 1_000;
/** Buckets that `auto` does not exceed, if a granularity allows it. */
const autoBucketsMax = 100;

const minuteMs = 60_000;
const lengthMs = { minute: minuteMs, hour: 60 * minuteMs, day: 1_440 * minuteMs, week: 10_080 * minuteMs } as const;

/** A time window: from inclusive, to exclusive. */
export interface Window {
  fromMs: number;
  toMs: number;
}

/** Returns the finest granularity with at most 100 buckets, or weeks. */
export function autoGranularity({ fromMs, toMs }: Window): Granularity {
  return granularities.find((each) => (toMs - fromMs) / lengthMs[each] <= autoBucketsMax) ?? 'week';
}

/** Returns whether a window has at most {@link bucketsMax} buckets of a granularity, counting parts of buckets. */
export function hasFewBuckets({ fromMs, toMs }: Window, granularity: Granularity): boolean {
  // A bucket can be an hour shorter, when clocks are put forward, and both ends can be parts.
  return (toMs - fromMs) / lengthMs[granularity] <= bucketsMax - 2;
}

/**
 * Returns the starts of the buckets that a window touches, in milliseconds since the epoch. Hours, days
 * and weeks, which begin on Monday, are those of the time zone's calendar. The first start can be
 * before the window, but not before 1970, because stored times are not. `zone` is a canonical name.
 */
export function bucketStarts({ fromMs, toMs }: Window, granularity: Granularity, zone: string): number[] {
  const starts: number[] = [];
  for (let startMs = Math.max(0, startOf(fromMs, granularity, zone)); startMs < toMs; ) {
    starts.push(startMs);
    startMs = nextStart(startMs, granularity, zone);
  }
  // Where clocks were put back, the first start can be that of the hour before the window.
  const first = starts.findLastIndex((startMs) => startMs <= fromMs);
  return starts.slice(Math.max(0, first));
}

/** Returns the start of the bucket after the one that starts at this time. */
export function nextStart(startMs: number, granularity: Granularity, zone: string): number {
  if (granularity === 'minute') return startMs + minuteMs;
  // Most hours, and quick: a thousand calendar computations take 40 ms.
  if (granularity === 'hour' && isRegularHour(startMs, zone)) return startMs + lengthMs.hour;
  const start = DateTime.fromMillis(startMs, { zone });
  const next = start
    .plus({ [`${granularity}s`]: 1 })
    .startOf(granularity)
    .toMillis();
  // When clocks are put back, an hour can have two parts with the same name.
  return next > startMs ? next : startMs + lengthMs[granularity];
}

/** Returns whether a whole hour of the zone's clocks starts at this time. */
function isRegularHour(startMs: number, zone: string): boolean {
  const rules = IANAZone.create(zone);
  const offset = rules.offset(startMs);
  const isWhole = (startMs + offset * minuteMs) % lengthMs.hour === 0;
  return isWhole && offset === rules.offset(startMs + lengthMs.hour);
}

function startOf(atMs: number, granularity: Granularity, zone: string): number {
  const startMs = DateTime.fromMillis(atMs, { zone }).startOf(granularity).toMillis();
  // When clocks are put back by half an hour, the start of an hour can be read as the later one.
  return startMs <= atMs ? startMs : startMs - lengthMs[granularity];
}

/** Returns whether a name is a time zone of the IANA database. */
export function isTimeZone(name: string): boolean {
  return canonicalTimeZone(name) !== undefined;
}
