import { setImmediate as nextTurn } from 'node:timers/promises';

const sliceMs = 10;

/** `items.map(map)` that lets the event loop go on every ten milliseconds, for lists that take longer. */
export async function mapInSlices<T, U>(items: readonly T[], map: (item: T, index: number) => U): Promise<U[]> {
  const mapped: U[] = [];
  let startedAtMs = performance.now();
  for (const [index, item] of items.entries()) {
    if (performance.now() - startedAtMs > sliceMs) {
      await nextTurn();
      startedAtMs = performance.now();
    }
    mapped.push(map(item, index));
  }
  return mapped;
}
