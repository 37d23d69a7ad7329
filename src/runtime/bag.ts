/** The place of one item in a {@link Bag}. */
interface Place<Item> {
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
  readonly #places: Place<Item>[] = [];

  /**
   * Adds an item.
   * @returns a function that removes it, to be called once
   */
  add(item: Item): () => void {
    const place = { item, index: this.#places.length };
    this.#places.push(place);
    return () => this.#remove(place);
  }

  items(): Item[] {
    return this.#places.map(({ item }) => item);
  }

  /** Moves the last item into the freed place. */
  #remove(place: Place<Item>): void {
    const last = this.#places.pop();
    if (last === undefined || last === place) return;
    last.index = place.index;
    this.#places[place.index] = last;
  }
}
