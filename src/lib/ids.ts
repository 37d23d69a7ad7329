import { randomBytes } from 'node:crypto';

/** Prefixes of ids, one per type. */
export type IdPrefix = 'prj' | 'wsp' | 'prm' | 'prt' | 'key' | 'opt' | 'fbk' | 'usr' | 'whk' | 'evt' | 'dlv' | 'req';

export type WorkspaceId = `wsp_${string}`;
export type ProjectId = `prj_${string}`;
export type UserId = `usr_${string}`;

const base32 = '0123456789abcdefghjkmnpqrstvwxyz';

/**
 * Returns a new opaque id: the prefix, 10 characters of milliseconds and 16 of randomness, in
 * Crockford base32. Ids sort by time (the layout of ULID, github.com/ulid/spec, in lower case).
 */
export function newId<P extends IdPrefix>(prefix: P, nowMs: number = Date.now()): `${P}_${string}` {
  return `${prefix}_${encodeTime(nowMs)}${encodeRandom(randomBytes(16))}`;
}

/** Returns whether `id` has the shape that {@link newId} produces for `prefix`. */
export function isId(prefix: IdPrefix, id: string): boolean {
  return (
    id.length === prefix.length + 27 && id.startsWith(`${prefix}_`) && /^[0-9a-hjkmnp-tv-z]{26}$/.test(id.slice(-26))
  );
}

function encodeTime(ms: number): string {
  let rest = ms;
  let text = '';
  for (let i = 0; i < 10; i++) {
    text = base32.charAt(rest % 32) + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

function encodeRandom(random: Buffer): string {
  let text = '';
  for (const byte of random) text += base32.charAt(byte & 31);
  return text;
}
