import { hash } from 'node:crypto';

/** Returns the key of a row: the SHA-256 in hex of its inputs as JSON, whatever the order of their members. */
export function rowKeyOf(inputs: Readonly<Record<string, unknown>>): string {
  return hash('sha256', JSON.stringify(inputs, sortMembers));
}

function sortMembers(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
