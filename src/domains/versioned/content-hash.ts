import { hash } from 'node:crypto';
import type { JsonObject } from './item.ts';

/**
 * Returns the SHA-256 in hex of content as canonical JSON. The order of keys does not change it.
 */
export function contentHashOf(content: JsonObject): string {
  return hash('sha256', JSON.stringify(content, sortKeys));
}

/** Sorts keys by UTF-16 code units, as RFC 8785 does. */
function sortKeys(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
