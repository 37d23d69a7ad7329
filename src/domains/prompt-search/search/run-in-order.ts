import { LimitReached } from './ports.ts';

/** The results in the order of the items; without those that a limit did not allow. */
export interface OrderedResults<R> {
  results: (R | undefined)[];
  limit: LimitReached | undefined;
}

/**
 * Works on items, several at a time, begun in their order. After the first failure no item begins; what
 * has begun is awaited, so that nothing goes on behind the back of the caller.
 * @throws the failure of the first item in order that failed, unless it is LimitReached
 */
export async function runInOrder<T, R>(
  items: readonly T[],
  concurrency: number,
  work: (item: T) => Promise<R>,
): Promise<OrderedResults<R>> {
  const results = new Array<R | undefined>(items.length).fill(undefined);
  const failures = new Map<number, unknown>();
  const open = items.entries();
  const lane = async () => {
    for (const [index, item] of open) {
      if (failures.size > 0) return;
      try {
        results[index] = await work(item);
      } catch (error) {
        failures.set(index, error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, lane));
  const inOrder = [...failures].sort(([a], [b]) => a - b).map(([, error]) => error);
  const fatal = inOrder.find((error) => !(error instanceof LimitReached));
  if (fatal !== undefined) throw fatal;
  return { results, limit: inOrder.find((error) => error instanceof LimitReached) };
}
