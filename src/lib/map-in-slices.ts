import { setImmediate as nextTurn } from 'node:timers/promises';

const sliceMs = 10;

/** `items.map(map)` that lets the event loop go on every ten milliseconds, for lists that take longer. */
export async function mapInSlices<T, U>(items: readonly T[], map: (item: T, index: number) => U): Promise<U[]> {
  const mapped: U[] = [];
  const pause = pauseBetweenSlices();
  for (const [index, item] of items.entries()) {
    await pause();
    mapped.push(map(item, index));
  }
  return mapped;
}

/** Call it between pieces of work: it lets the event loop go on when ten milliseconds have passed since it last did. */
export function pauseBetweenSlices(): () => Promise<void> | undefined {
  let startedAtMs = performance.now();
  return () => {
    if (performance.now() - startedAtMs <= sliceMs) return undefined;
    return nextTurn().then(() => {
      startedAtMs = performance.now();
    });
  };
}
