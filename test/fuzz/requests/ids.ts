import fc from 'fast-check';

const keptMax = 40;

/**
 * Names of resources that exist or existed, by the path parameter that they fit. Contains the names
 * of the set-up and the newest names of other resources.
 */
export class KnownIds {
  readonly #lasting = new Map<string, string[]>();
  readonly #byName = new Map<string, string[]>();

  /** Adds a name of the set-up. No request of the fuzzer deletes its resource by this name. */
  keep(name: string, value: string): void {
    this.#lasting.set(name, [...(this.#lasting.get(name) ?? []), value]);
  }

  add(name: string, value: string): void {
    const known = this.#byName.get(name) ?? [];
    if (known.includes(value)) return;
    known.push(value);
    if (known.length > keptMax) known.shift();
    this.#byName.set(name, known);
  }

  /** Returns the known names for a parameter. The list may be empty. */
  of(name: string): readonly string[] {
    return [...(this.#lasting.get(name) ?? []), ...(this.#byName.get(name) ?? [])];
  }

  /**
   * Draws one of the names that are known at that time, or else `otherwise`. With `passing`, it
   * never draws a name of the set-up.
   */
  pick(name: string, otherwise: fc.Arbitrary<string>, which: 'any' | 'passing' = 'any'): fc.Arbitrary<string> {
    return fc.tuple(fc.noBias(fc.nat()), otherwise).map(([at, other]) => {
      const known = which === 'any' ? this.of(name) : (this.#byName.get(name) ?? []);
      return known[at % known.length] ?? other;
    });
  }

  /** Adds the names of new resources in a response of the operation. */
  harvest(operationId: string, answer: unknown): void {
    if (typeof answer !== 'object' || answer === null) return;
    const { id, slug, trace_id, page } = answer as Record<string, unknown>;
    const name = createdBy[operationId];
    if (name !== undefined && typeof id === 'string') this.add(name, id);
    if (name !== undefined && typeof slug === 'string') this.add(name, slug);
    if (typeof trace_id === 'string') this.add('trace_id', trace_id);
    const cursor = typeof page === 'object' && page !== null && 'next_cursor' in page ? page.next_cursor : undefined;
    if (typeof cursor === 'string') this.add('cursor', cursor);
  }
}

const createdBy: Readonly<Record<string, string>> = {
  createPrompt: 'prompt_id',
  createPart: 'part_id',
  createApiKey: 'key_id',
};
