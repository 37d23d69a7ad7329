import { hash } from 'node:crypto';
import { isId } from '../../lib/ids.ts';
import type { ItemKind } from './kind.ts';

/** A slug in the form that part tags accept. */
export const slugPattern = /^[a-z0-9][a-z0-9_.-]{0,99}$/;

const derivedCharsMax = 80;
/** Letters that Unicode does not decompose into a base letter and a mark. */
const letters: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
};

/**
 * Derives a slug from a name in ASCII. A name without any ASCII letter or digit gets a slug from
 * its hash.
 */
export function deriveSlug(kind: ItemKind, name: string): string {
  const ascii = name
    .toLowerCase()
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[ßæœøłđðþ]/g, (letter) => letters[letter] ?? '')
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, derivedCharsMax)
    .replaceAll(/^-|-$/g, '');
  const slug = ascii === '' ? `${kind.noun}-${hash('sha256', name).slice(0, 8)}` : ascii;
  return isReserved(kind, slug) ? `${slug}-${kind.noun}` : slug;
}

/** Returns whether a slug would collide with a route or an id. */
export function isReserved(kind: ItemKind, slug: string): boolean {
  return kind.reservedSlugs.includes(slug) || isId(kind.idPrefix, slug);
}
