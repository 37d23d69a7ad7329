/** The answer for what is not there, told apart from a null that is. */
export const absent = Symbol('absent');

/** One context of the stack. Of a part's arguments, `paths` says which variables they stand for. */
export interface Frame {
  value: unknown;
  paths?: ReadonlyMap<string, string>;
}

/** The arguments of a part as its context. */
export interface Given extends Frame {
  value: Record<string, unknown>;
  paths: ReadonlyMap<string, string>;
}

export interface Found {
  value: unknown;
  /** Index of the frame that has the first segment; -1 when none does. */
  frame: number;
}

/**
 * The value of a name by Mustache's rule: the first segment from the innermost context that has it, the others from there.
 * Own properties only, and of a list only its items; a function is nothing.
 */
export function lookUp(frames: readonly Frame[], path: readonly string[]): Found {
  const [first, ...rest] = path;
  if (first === undefined) {
    const item = frames.findLastIndex(({ paths }) => paths === undefined);
    return { value: frames[item]?.value, frame: item };
  }
  for (let frame = frames.length - 1; frame >= 0; frame--) {
    const value = own(frames[frame]?.value, first);
    if (value !== absent) return { value: rest.length === 0 ? value : descend(value, rest), frame };
  }
  return { value: absent, frame: -1 };
}

/** A property of a property of …; `absent` as soon as one is not there. */
export function descend(value: unknown, path: readonly string[]): unknown {
  let at = value;
  for (const segment of path) {
    at = own(at, segment);
    if (at === absent) return absent;
  }
  return at;
}

/** One own property of an object, or an item of a list by its index. */
export function own(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null) return absent;
  if (Array.isArray(value) && !/^\d+$/.test(key)) return absent;
  if (!Object.hasOwn(value, key)) return absent;
  const found: unknown = Reflect.get(value, key);
  return typeof found === 'function' ? absent : found;
}

/** Null counts as missing: it has nothing to insert. */
export function isMissing(value: unknown): boolean {
  return value === absent || value === undefined || value === null;
}
