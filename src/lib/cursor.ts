import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { MalformedError } from './errors.ts';

/**
 * The position where a list continues: the sort key and the tie breaker of the last row returned.
 * JSON values only.
 */
export type CursorPosition = readonly (string | number | boolean | null)[];

/**
 * Encodes an opaque, signed cursor: base64url of a truncated HMAC-SHA256, followed by JSON of the
 * fingerprint digest and the position. `fingerprint` identifies filters and sort, see
 * `fingerprintOf`.
 */
export function encodeCursor(secret: string, fingerprint: string, position: CursorPosition): string {
  const payload = Buffer.from(JSON.stringify([digest(fingerprint), position]));
  return Buffer.concat([sign(secret, payload), payload]).toString('base64url');
}

/**
 * Returns the position in a cursor, in the shape of `schema`.
 * @throws MalformedError `invalid_cursor` when it was not issued with this secret,
 * `cursor_mismatch` when it was issued for other filters or another sort
 */
export function decodeCursor<S extends z.ZodType<CursorPosition>>(
  secret: string,
  fingerprint: string,
  cursor: string,
  schema: S,
): z.output<S> {
  const bytes = Buffer.from(cursor, 'base64url');
  const payload = bytes.subarray(macBytes);
  // Buffer.from skips characters outside base64url, so only a cursor that encodes back to itself is
  // valid.
  const wellFormed = bytes.length > macBytes && bytes.toString('base64url') === cursor;
  if (!wellFormed || !timingSafeEqual(sign(secret, payload), bytes.subarray(0, macBytes))) throw invalid(cursor);
  const [fingerprintDigest, position] = signed.parse(JSON.parse(payload.toString()));
  if (fingerprintDigest !== digest(fingerprint)) {
    throw new MalformedError(
      'cursor_mismatch',
      'The cursor belongs to other filters or another sort order. Start without a cursor',
    );
  }
  const parsed = schema.safeParse(position);
  if (!parsed.success) throw invalid(cursor);
  return parsed.data;
}

/**
 * Returns the same text for the same filters, whatever the order of their keys. An absent field
 * equals an undefined one.
 */
export function fingerprintOf(filters: unknown): string {
  return JSON.stringify(filters, (_key, value: unknown) => {
    if (typeof value === 'bigint') return value.toString();
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? sortFields(value) : value;
  });
}

/** Returns an object with its fields in the order in which a fingerprint has them. */
export function sortFields(value: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

const macBytes = 16;
const signed = z.tuple([z.string(), z.unknown()]);

const sign = (secret: string, payload: Buffer) =>
  createHmac('sha256', secret).update('cursor\0').update(payload).digest().subarray(0, macBytes);

const digest = (fingerprint: string) => createHash('sha256').update(fingerprint).digest('base64url').slice(0, 16);

function invalid(cursor: string): MalformedError {
  return new MalformedError(
    'invalid_cursor',
    `cursor: ${JSON.stringify(cursor.slice(0, 40))} was not issued by this service`,
  );
}
