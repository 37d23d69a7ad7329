import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { type TemplateBudget, TemplateLimitError } from '../problems.ts';

const refusedForMs = 10_000;
/** All workspaces together, twice as many at most. Who is forgotten runs again, in their turn. */
const keptMax = 500;
/** What comes out differently on a busy machine, and costs most. Other limits are found out quickly. */
const remembered: ReadonlySet<TemplateBudget> = new Set(['time', 'memory']);

interface Refusal {
  message: string;
  budget: TemplateBudget;
  untilMs: number;
}

/**
 * Work that went over its time or memory is refused for ten seconds without being tried again: the same templates with the same
 * variables. Other variables are other work, so nobody can have a prompt refused to the users it works for.
 */
export class RefusedWork {
  readonly #kept = new LRUCache<string, Refusal>({ max: keptMax });

  /** Throws the TemplateLimitError that the same work ended with, or runs it. `work` is JSON: whose it is and what it is. */
  async orRun<T>(work: readonly unknown[], run: () => Promise<T>): Promise<T> {
    const key = hash('sha256', JSON.stringify(work));
    const known = this.#kept.get(key);
    const leftMs = (known?.untilMs ?? 0) - performance.now();
    if (known !== undefined && leftMs > 0) {
      const again = `; it is not tried again for ${Math.ceil(leftMs / 1_000)} s`;
      throw new TemplateLimitError(known.message + again, known.budget);
    }
    try {
      return await run();
    } catch (error) {
      if (error instanceof TemplateLimitError && remembered.has(error.budget)) {
        const { message, budget } = error;
        this.#kept.set(key, { message, budget, untilMs: performance.now() + refusedForMs });
      }
      throw error;
    }
  }
}
