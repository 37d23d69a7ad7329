/** Result for an absent property. A property that is present may be null. */
export const absent = Symbol('absent');

/** Maps the names of arguments to the variables they stand for; null for a value that no variable of the caller gives. */
export type ArgumentPaths = Pick<ReadonlyMap<string, string | null>, 'get'>;

/** One context of the stack. That of the arguments of a part has `paths`. */
export interface Frame {
  value: unknown;
  paths?: ArgumentPaths;
}

/** The arguments of a part as a context. */
export interface Given extends Frame {
  value: Record<string, unknown>;
  paths: ArgumentPaths;
}

export interface Found {
  value: unknown;
  /** Index of the frame that has the first segment; -1 when no frame has it. */
  frame: number;
}

/**
 * Looks a name up by Mustache's rule: the first segment in the innermost context that has it, the
 * other segments from there. Only own properties and list items are found; functions count as
 * absent.
 */
export function lookUp(frames: readonly Frame[], path: readonly string[]): Found {
  const first = path[0];
  if (first === undefined) {
    const item = frames.findLastIndex(({ paths }) => paths === undefined);
    return { value: frames[item]?.value, frame: item };
  }
  for (let frame = frames.length - 1; frame >= 0; frame--) {
    const value = own(frames[frame]?.value, first);
    if (value !== absent) return { value: path.length === 1 ? value : descend(value, path.slice(1)), frame };
  }
  return { value: absent, frame: -1 };
}

/** Follows a path of properties. Returns `absent` as soon as one property is absent. */
export function descend(value: unknown, path: readonly string[]): unknown {
  let at = value;
  for (const segment of path) {
    at = own(at, segment);
    if (at === absent) return absent;
  }
  return at;
}

/** Returns one own property of an object, or an item of a list by its index. */
export function own(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null) return absent;
  if (Array.isArray(value) && !/^\d+$/.test(key)) return absent;
  if (!Object.hasOwn(value, key)) return absent;
  const found: unknown = Reflect.get(value, key);
  return typeof found === 'function' ? absent : found;
}

/**
 * Returns whether a value is absent or null. null counts as missing, because it has nothing to
 * insert.
 */
export function isMissing(value: unknown): boolean {
  return value === absent || value === undefined || value === null;
}
