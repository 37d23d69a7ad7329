/** Lets work run while its bytes fit; the rest waits its turn, in order. Work larger than the whole runs alone. */
export class WorkBudget {
  readonly #bytesMax: number;
  #bytes = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  async hold<T>(bytes: number, work: () => Promise<T>): Promise<T> {
    while (this.#bytes > 0 && this.#bytes + bytes > this.#bytesMax) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    this.#bytes += bytes;
    try {
      return await work();
    } finally {
      this.#bytes -= bytes;
      for (const wake of this.#waiting.splice(0)) wake();
    }
  }
}
