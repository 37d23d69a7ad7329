import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { type TemplateBudget, TemplateLimitError } from '../problems.ts';

const refusedForMs = 10_000;
/**
 * Maximum number of refusals remembered, for all workspaces together. Forgotten work runs again
 * when its turn comes.
 */
const keptMax = 500;
/**
 * Limits that are remembered: they cost the most, and on a busy machine their result may differ.
 * Other limits are detected quickly.
 */
const remembered: ReadonlySet<TemplateBudget> = new Set(['time', 'memory']);

interface Refusal {
  message: string;
  budget: TemplateBudget;
  untilMs: number;
}

/**
 * Refuses work that exceeded its time or memory for ten seconds without running it again. The work
 * is identified by its templates and variables, so other variables of the same prompt still run. So
 * nobody can get a prompt refused for the users it works for.
 */
export class RefusedWork {
  readonly #kept = new LRUCache<string, Refusal>({ max: keptMax });

  /**
   * Runs the work unless the same work was refused recently. `work` is JSON of the workspace and
   * the task.
   * @throws TemplateLimitError that the same work ended with
   */
  async orRun<T>(work: readonly unknown[], run: () => Promise<T>): Promise<T> {
    const key = hash('sha256', JSON.stringify(work));
    const known = this.#kept.get(key);
    const leftMs = (known?.untilMs ?? 0) - performance.now();
    if (known !== undefined && leftMs > 0) {
      const again = `. The same request is refused for another ${Math.ceil(leftMs / 1_000)} s`;
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
