import { seededDraws, shuffled } from '../statistics/seeded-draws.ts';
import type { Row } from './ports.ts';

/** Gives the training rows in epochs: each row once, in an order of the epoch, before any comes again. */
export class TrainOrder {
  readonly #rows: readonly Row[];
  readonly #seed: number;
  #epoch = 0;
  #left: Row[] = [];

  constructor(rows: readonly Row[], seed: number) {
    this.#rows = rows;
    this.#seed = seed;
  }

  /** Returns the next rows, as many as there are up to `count`, without those that are excluded. */
  take(count: number, excluded: ReadonlySet<string>): Row[] {
    const taken: Row[] = [];
    const wanted = Math.min(count, this.#rows.filter(({ key }) => !excluded.has(key)).length);
    const names = new Set(excluded);
    while (taken.length < wanted) {
      if (this.#left.length === 0) this.#left = shuffled(seededDraws(this.#seed, 'epoch', this.#epoch++), this.#rows);
      const at = this.#left.findIndex(({ key }) => !names.has(key));
      const [row] = at < 0 ? [] : this.#left.splice(at, 1);
      if (row === undefined) this.#left = [];
      else {
        names.add(row.key);
        taken.push(row);
      }
    }
    return taken;
  }
}
