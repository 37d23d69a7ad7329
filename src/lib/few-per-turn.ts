import type { Rest } from './pace.ts';

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

const alone = new FewPerTurn(1);

/**
 * Gives other work a turn of the event loop, and goes on in a turn of its own. For pieces of work of some
 * milliseconds that many begin at the same time: after `oneTurn`, all of them would go on in one turn.
 */
export const ownTurn: Rest = () => new Promise((resolve) => alone.add(resolve));
