import { createHash } from 'node:crypto';
import { MalformedError, PreconditionFailedError } from '../lib/errors.ts';

/**
 * The content of `If-Match`: `*` for anything that exists, or strong entity tags without their
 * quotes.
 */
export type IfMatch = '*' | readonly string[];

/** Returns a strong entity tag for content, without its quotes. */
export function contentEtag(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('base64url').slice(0, 27);
}

/**
 * Formats an entity tag for a header.
 * @throws Error for a tag that RFC 9110, 8.8.3 does not allow, which is an internal fault
 */
export function formatEtag(etag: string): string {
  if (!/^[\x21\x23-\x7e]+$/.test(etag)) throw new Error(`${JSON.stringify(etag)} cannot be an entity tag`);
  return `"${etag}"`;
}

/**
 * Reads `If-Match` (RFC 9110, 13.1.1). Leaves weak tags out, because they never match in a strong
 * comparison.
 * @throws MalformedError `invalid_header`
 */
export function parseIfMatch(header: string | undefined): IfMatch | undefined {
  if (header === undefined) return undefined;
  if (header.trim() === '*') return '*';
  const tags = parseTags(header);
  if (tags) return tags.filter(({ weak }) => !weak).map(({ tag }) => tag);
  throw new MalformedError(
    'invalid_header',
    `If-Match must be * or a list of quoted entity tags; given ${JSON.stringify(header.slice(0, 80))}`,
  );
}

/**
 * Compares `If-Match` with the current entity tag, which is `undefined` when nothing exists yet.
 * `others` are the tags of other responses that show the same state. Without the header nothing is
 * checked.
 * @throws PreconditionFailedError with `current_etag`
 */
export function requireMatch(
  ifMatch: IfMatch | undefined,
  currentEtag: string | undefined,
  others: readonly string[] = [],
): void {
  if (ifMatch === undefined) return;
  if (currentEtag !== undefined && (ifMatch === '*' || ifMatch.includes(currentEtag))) return;
  if (ifMatch !== '*' && others.some((tag) => ifMatch.includes(tag))) return;
  const current = currentEtag === undefined ? null : formatEtag(currentEtag);
  throw new PreconditionFailedError(
    'precondition_failed',
    `If-Match does not match the current entity tag ${current ?? '(none)'}`,
    {
      extra: { current_etag: current },
    },
  );
}

/**
 * Tells whether a request is a change of something that has no entity tag. No tag in `If-Match` can
 * match then.
 */
export function changesUntagged({ method, conditional }: { method: string; conditional?: unknown }): boolean {
  return !conditional && (method === 'PUT' || method === 'PATCH' || method === 'DELETE');
}

/**
 * Returns whether `If-None-Match` holds the tag, compared weakly (RFC 9110, 13.1.2). A malformed
 * header holds no tag.
 */
export function noneMatchHolds(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header.trim() === '*' || (parseTags(header) ?? []).some(({ tag }) => tag === etag);
}

/** Only one of the loops over blanks can read those before a fault, so that the time is linear in their number. */
const listItem = /[ \t]*(?:(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"[ \t]*)?(?:,|$)/y;

/**
 * Reads a list of entity tags, which may have empty elements (RFC 9110, 5.6.1.2). Returns undefined
 * when it is malformed or has no tag.
 */
function parseTags(header: string): { weak: boolean; tag: string }[] | undefined {
  const tags: { weak: boolean; tag: string }[] = [];
  listItem.lastIndex = 0;
  while (listItem.lastIndex < header.length) {
    const match = listItem.exec(header);
    if (!match) return undefined;
    if (match[2] !== undefined) tags.push({ weak: match[1] !== undefined, tag: match[2] });
  }
  return tags.length > 0 ? tags : undefined;
}
