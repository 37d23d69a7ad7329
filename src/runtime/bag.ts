/** Where one item is in a {@link Bag}. */
interface Place<Item> {
  readonly item: Item;
  index: number;
}

/**
 * Items that come and go with every request, in no order. A Set would keep dead ones alive: when its table is used up V8 makes a new
 * one and lets the old one point to it, so once a table has grown old all that was ever in its successors outlives the quick
 * collections, which then take three times as long.
 */
export class Bag<Item> {
  readonly #places: Place<Item>[] = [];

  /** Returns what takes it out again, to be called once. */
  add(item: Item): () => void {
    const place = { item, index: this.#places.length };
    this.#places.push(place);
    return () => this.#remove(place);
  }

  items(): Item[] {
    return this.#places.map(({ item }) => item);
  }

  /** The last item takes the place. */
  #remove(place: Place<Item>): void {
    const last = this.#places.pop();
    if (last === undefined || last === place) return;
    last.index = place.index;
    this.#places[place.index] = last;
  }
}
