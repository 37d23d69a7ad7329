import { createHash } from 'node:crypto';
import { MalformedError, PreconditionFailedError } from '../lib/errors.ts';

/** What `If-Match` names: anything that exists, or these entity tags, strong ones only and without their quotes. */
export type IfMatch = '*' | readonly string[];

/** A strong entity tag of content, without its quotes. */
export function contentEtag(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('base64url').slice(0, 27);
}

/** The header's form of an entity tag. Throws an Error for a tag that RFC 9110, 8.8.3 does not allow, which is our fault. */
export function formatEtag(etag: string): string {
  if (!/^[\x21\x23-\x7e]+$/.test(etag)) throw new Error(`${JSON.stringify(etag)} cannot be an entity tag`);
  return `"${etag}"`;
}

/**
 * Reads `If-Match` (RFC 9110, 13.1.1). Weak tags are read and left out: they never match strongly.
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
 * Holds `If-Match` against the current entity tag, `undefined` when there is nothing yet. Without the header all is well.
 * @throws PreconditionFailedError with `current_etag`
 */
export function requireMatch(ifMatch: IfMatch | undefined, currentEtag: string | undefined): void {
  if (ifMatch === undefined) return;
  if (currentEtag !== undefined && (ifMatch === '*' || ifMatch.includes(currentEtag))) return;
  const current = currentEtag === undefined ? null : formatEtag(currentEtag);
  throw new PreconditionFailedError(
    'precondition_failed',
    `If-Match does not name the current ${current ?? 'nothing'}`,
    {
      extra: { current_etag: current },
    },
  );
}

/** Whether `If-None-Match` holds the tag, compared weakly (RFC 9110, 13.1.2); a malformed header holds nothing. */
export function noneMatchHolds(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header.trim() === '*' || (parseTags(header) ?? []).some(({ tag }) => tag === etag);
}

const listItem = /[ \t]*(?:(W\/)?"([\x21\x23-\x7e\x80-\xff]*)")?[ \t]*(?:,|$)/y;

/** A list of entity tags with empty elements allowed (RFC 9110, 5.6.1.2); undefined when malformed or without any tag. */
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
