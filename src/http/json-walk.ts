import { InvalidError, MalformedError } from '../lib/errors.ts';
import { formatPath, quote } from './faults.ts';

/** Nesting of JSON bodies (R-LIM-3); engines and `JSON.stringify` recurse, so this is checked before anything else. */
export const jsonDepthMax = 64;

/** Text no engine of ours can store: NUL (Postgres refuses it) and lone surrogates (not encodable as UTF-8). */
export function isStorableText(text: string): boolean {
  return !unstorable.test(text);
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: NUL is what is looked for.
const unstorable = /\u0000|\p{Surrogate}/u;

interface Visit {
  value: unknown;
  key: string | number;
  parent: Visit | undefined;
  depth: number;
}

/**
 * Refuses parsed JSON that is nested over `jsonDepthMax` (`json_too_deep`) or holds unstorable text in a value
 * or a key (`invalid_body`). Iterative: a million levels of nesting cost no stack.
 */
export function checkJson(root: unknown): void {
  const stack: Visit[] = [{ value: root, key: '', parent: undefined, depth: 0 }];
  for (let visit = stack.pop(); visit; visit = stack.pop()) {
    const { value, depth } = visit;
    if (typeof value === 'string') checkText(value, visit);
    if (typeof value !== 'object' || value === null) continue;
    if (depth >= jsonDepthMax) {
      throw new MalformedError('json_too_deep', `The body is nested more than ${jsonDepthMax} levels deep`);
    }
    for (const [key, child] of Object.entries(value)) {
      const at: Visit = {
        value: child,
        key: Array.isArray(value) ? Number(key) : key,
        parent: visit,
        depth: depth + 1,
      };
      if (typeof at.key === 'string') checkText(key, at);
      stack.push(at);
    }
  }
}

function checkText(text: string, visit: Visit): void {
  if (isStorableText(text)) return;
  const path = formatPath(pathOf(visit));
  const message = `NUL characters and lone surrogates cannot be stored; given ${quote(text)}`;
  throw new InvalidError('invalid_body', `${path}: ${message}`, {
    errors: [{ path, code: 'unstorable_text', message }],
  });
}

function pathOf(visit: Visit): (string | number)[] {
  const path: (string | number)[] = [];
  for (let at = visit; at.parent; at = at.parent) path.unshift(at.key);
  return path;
}
