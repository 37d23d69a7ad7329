/**
 * Stores until when each lane of the timeline is taken, in a tree of minima. Finds the first free
 * lane in O(log n). A scan would take 50 million steps for 10,000 parallel spans.
 */
export class FreeLanes {
  readonly #leaves: number;
  /** Node i has the children 2i and 2i + 1. Lane l is the leaf `leaves + l`. */
  readonly #takenUntil: Float64Array;

  /** Creates lanes that are all free. */
  constructor(laneCount: number) {
    this.#leaves = 2 ** Math.ceil(Math.log2(Math.max(laneCount, 1)));
    this.#takenUntil = new Float64Array(2 * this.#leaves).fill(Number.NEGATIVE_INFINITY);
  }

  /** Returns the first lane from `from` on that is free at `time`, or -1 when there is none. */
  find(from: number, time: number): number {
    if (from >= this.#leaves) return -1;
    let at = this.#leaves + from;
    // Go up to the next subtree on the right until one has a free lane. Then go down to its first
    // free lane.
    while (this.#until(at) > time) {
      while (at % 2 === 1) at >>= 1;
      if (at === 0) return -1;
      at++;
    }
    while (at < this.#leaves) at = this.#until(2 * at) <= time ? 2 * at : 2 * at + 1;
    return at - this.#leaves;
  }

  /** Marks a lane as taken until a time. */
  take(lane: number, until: number): void {
    let at = this.#leaves + lane;
    this.#takenUntil[at] = Math.max(until, this.#until(at));
    for (at >>= 1; at >= 1; at >>= 1) {
      this.#takenUntil[at] = Math.min(this.#until(2 * at), this.#until(2 * at + 1));
    }
  }

  #until(at: number): number {
    return this.#takenUntil[at] ?? Number.POSITIVE_INFINITY;
  }
}
