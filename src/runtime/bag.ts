/** One item of a {@link Bag} and its index. */
interface Entry<Item> {
  readonly item: Item;
  index: number;
}

/**
 * Items that come and go with every request, in no order. A Set would keep removed items alive:
 * when its table is full, V8 creates a new one that the old one points to. Once an old table is in
 * the old generation, all items of its successors survive the minor garbage collections, which then
 * take three times as long.
 */
export class Bag<Item> {
  readonly #entries: Entry<Item>[] = [];

  /**
   * Adds an item.
   * @returns a function that removes it, to be called once
   */
  add(item: Item): () => void {
    const entry = { item, index: this.#entries.length };
    this.#entries.push(entry);
    return () => this.#remove(entry);
  }

  items(): Item[] {
    return this.#entries.map(({ item }) => item);
  }

  /** Moves the last item to the freed index. */
  #remove(entry: Entry<Item>): void {
    const last = this.#entries.pop();
    if (last === undefined || last === entry) return;
    last.index = entry.index;
    this.#entries[entry.index] = last;
  }
}
