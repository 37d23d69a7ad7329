/**
 * The values of one statement. A value from a caller never becomes SQL; the SQL has only a name
 * such as `{p3:String}`.
 */
export class BoundParameters {
  readonly values: Record<string, unknown> = {};
  readonly #shared = new Map<object, string>();
  #count = 0;

  /** Binds a value and returns its placeholder for the statement. */
  bind(type: string, value: unknown): string {
    const name = `p${this.#count++}`;
    this.values[name] = value;
    return `{${name}:${type}}`;
  }

  /** Returns what `bind` returned for this list before, so that a long list is sent once. */
  once(list: object, bind: () => string): string {
    const known = this.#shared.get(list) ?? bind();
    this.#shared.set(list, known);
    return known;
  }
}
