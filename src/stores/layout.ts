/** The migrations that a store has run, in order, and those that this version has. */
export interface StoreLayout {
  store: 'Postgres' | 'ClickHouse';
  ran: readonly string[];
  known: readonly string[];
}

type Explanation = (found: { store: string; ran: string; startOver: string }) => string;

/** A newer version has all migrations of this one, so a store that lacks one is older. */
const explanations = {
  newer: ({ store, ran }) =>
    `${store} has the tables of a newer version: it ran ${ran}, which this version does not have. Run that version`,
  older: ({ store, ran, startOver }) =>
    `${store} has the tables of an unreleased version, which no release can read: it ran ${ran}, ` +
    `which this version does not have. To start over without its data, ${startOver}`,
} as const satisfies Record<string, Explanation>;

/** A store has run migrations that this version does not have. */
export class UnknownLayoutError extends Error {
  readonly #layout: StoreLayout;
  readonly #unknown: readonly string[];

  constructor(layout: StoreLayout, unknown: readonly string[]) {
    super(`${layout.store} ran migrations that this version does not have`);
    this.#layout = layout;
    this.#unknown = unknown;
  }

  /**
   * Returns one line: the store, what it ran, and what to do. `startOver` says how to empty the
   * stores, and ends the line where that is the only way.
   */
  explain(startOver: string): string {
    const { store, ran, known } = this.#layout;
    const age = known.every((name) => ran.includes(name)) ? 'newer' : 'older';
    return explanations[age]({ store, ran: listed(this.#unknown), startOver });
  }
}

const namesMax = 2;

function listed(names: readonly string[]): string {
  const rest = names.length - namesMax;
  return names.slice(0, namesMax).join(', ') + (rest > 0 ? ` and ${rest} more` : '');
}

/**
 * Checks that this version knows every migration that the store has run.
 * @throws UnknownLayoutError when it does not
 */
export function requireKnownLayout(layout: StoreLayout): void {
  const unknown = layout.ran.filter((name) => !layout.known.includes(name));
  if (unknown.length > 0) throw new UnknownLayoutError(layout, unknown);
}
