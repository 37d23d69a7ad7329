/** A section or loop around a use of a variable, and the one around it. The outermost one is the template itself. */
export interface Section {
  name: string;
  outer: Section | undefined;
  /** The sections in it, by name. */
  inner: Map<string, Section>;
}

/** Returns the outermost section. */
export function outermostSection(): Section {
  return { name: '', outer: undefined, inner: new Map() };
}

/** Returns the last of these sections, each within the one before. Equal names lead to the same object. */
export function enterSections(outer: Section, names: readonly string[]): Section {
  let at = outer;
  for (const name of names) {
    const inner: Section = at.inner.get(name) ?? { name, outer: at, inner: new Map() };
    at.inner.set(name, inner);
    at = inner;
  }
  return at;
}
