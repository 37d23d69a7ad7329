import { z } from 'zod';

/** As far as a provider's clock may be ahead of ours; its signatures may be as far from now. */
const aheadMsMax = 5 * 60_000;
/** The first millisecond of the year 1, before which Postgres and RFC 3339 have no time. */
const firstMs = -62_135_596_800_000;

/**
 * A time of an event, as milliseconds since the epoch or RFC 3339; read as milliseconds. What is ahead of now is refused: it would make
 * everything that is said later look outdated.
 */
export const eventTime = z
  .union([z.int().min(0), z.iso.datetime({ offset: true }).transform((text) => Date.parse(text))])
  .refine((ms) => ms >= firstMs, { error: 'must not be before the year 0001' })
  .refine((ms) => ms <= Date.now() + aheadMsMax, {
    error: () => `must not be more than 5 minutes ahead of now, ${new Date().toISOString()}`,
  });
