import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { inHeavyTurn } from '../../../lib/heavy-turns.ts';
import { type TemplateBudget, TemplateLimitError } from '../problems.ts';
import type { TemplateSource, ThreadWork, WorkName } from './tasks.ts';

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

/** A task of a workspace. All of it is JSON. */
interface Work {
  workspaceId: string;
  name: WorkName;
  task: ThreadWork[WorkName]['task'];
}

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
   * Runs the work unless the same work was refused recently. Large work is recognized in the turn of its workspace.
   * @throws TemplateLimitError that the same work ended with
   */
  async orRun<T>(work: Work, run: () => Promise<T>): Promise<T> {
    const key = await inHeavyTurn(work.workspaceId, () => keyOf(work));
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

function keyOf({ workspaceId, name, task }: Work): string {
  const known =
    'templates' in task
      ? {
          ...task,
          templates: task.templates.map(digestOf),
          parts: task.parts.map(([ref, part]) => [ref, digestOf(part)]),
        }
      : task;
  return hash('sha256', JSON.stringify([workspaceId, name, known]));
}

/** Digests by template, because the same object is rendered with many variables. */
const digestsKept = new WeakMap<TemplateSource, string>();

function digestOf(template: TemplateSource): string {
  const digest = digestsKept.get(template) ?? hash('sha256', JSON.stringify(template));
  digestsKept.set(template, digest);
  return digest;
}
