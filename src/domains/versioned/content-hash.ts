import { hash } from 'node:crypto';
import type { JsonObject } from './item.ts';

/** SHA-256 in hex of content as canonical JSON: the same for the same values whatever the order of their keys. */
export function contentHashOf(content: JsonObject): string {
  return hash('sha256', JSON.stringify(content, sortKeys));
}

/** Keys by UTF-16 units, as RFC 8785 orders them. */
function sortKeys(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
