/** The values of one statement: what a caller gave never becomes SQL, only a name such as `{p3:String}` does. */
export class BoundParameters {
  readonly values: Record<string, unknown> = {};
  #count = 0;

  /** Binds a value and returns what stands for it in the statement. */
  bind(type: string, value: unknown): string {
    const name = `p${this.#count++}`;
    this.values[name] = value;
    return `{${name}:${type}}`;
  }
}
