/**
 * Runs functions in order, at most `perTurn` in one turn of the event loop, so that many together do
 * not delay other work.
 */
export class FewPerTurn {
  readonly #perTurn: number;
  #due: (() => void)[] = [];

  constructor(perTurn: number) {
    this.#perTurn = perTurn;
  }

  add(work: () => void): void {
    this.#due.push(work);
    if (this.#due.length === 1) setImmediate(() => this.#run());
  }

  #run(): void {
    const now = this.#due.slice(0, this.#perTurn);
    this.#due = this.#due.slice(this.#perTurn);
    if (this.#due.length > 0) setImmediate(() => this.#run());
    for (const work of now) work();
  }
}
