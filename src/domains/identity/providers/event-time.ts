import { z } from 'zod';

/** The last millisecond of the year 9999, beyond which no RFC 3339 time exists. */
const lastMs = 253_402_300_799_999;

/** A time of an event, as milliseconds since the epoch or RFC 3339; read as milliseconds. */
export const eventTime = z.union([
  z.int().min(0).max(lastMs),
  z.iso.datetime({ offset: true }).transform((text) => Date.parse(text)),
]);
