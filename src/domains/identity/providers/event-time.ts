import { z } from 'zod';
import { verbOf } from './read-change.ts';

/**
 * The clock of a provider may be ahead of ours by this much. Signatures have the same tolerance.
 */
const aheadMsMax = 5 * 60_000;
/** The first millisecond of the year 1. Postgres and RFC 3339 have no earlier time. */
const firstMs = -62_135_596_800_000;

/**
 * A time of an event, as milliseconds since the epoch or RFC 3339; parsed to milliseconds. A time
 * in the future is rejected, because it would make all later events look outdated.
 */
export const eventTime = z
  .union([z.int().min(0), z.iso.datetime({ offset: true }).transform((text) => Date.parse(text))])
  .refine((ms) => ms >= firstMs, { error: 'must not be before the year 0001' })
  .refine((ms) => ms <= Date.now() + aheadMsMax, {
    error: () => `must not be more than 5 minutes after the current time, ${new Date().toISOString()}`,
  });

/** The times that an event has, in milliseconds. */
export interface EventTimes {
  /** When the object changed last. */
  updatedAtMs: number | null | undefined;
  /** When the event happened. */
  eventAtMs: number | null | undefined;
  /** When this attempt was signed. */
  sentAtMs: number;
}

/**
 * Returns when the change of an event of this type happened. A deletion comes with the object as it was, whose own time
 * is that of an earlier change. So a deletion has the time of the event, if that is later.
 */
export function changedAtMs(type: string, { updatedAtMs, eventAtMs, sentAtMs }: EventTimes): number {
  const toldAtMs = eventAtMs ?? sentAtMs;
  if (verbOf(type) === 'deleted') return Math.max(updatedAtMs ?? toldAtMs, toldAtMs);
  return updatedAtMs ?? toldAtMs;
}
