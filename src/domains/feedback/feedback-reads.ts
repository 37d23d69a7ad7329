import { LRUCache } from 'lru-cache';
import { RateLimitedError, UnavailableError } from '../../lib/errors.ts';
import { FairLane } from '../../lib/fair-lane.ts';
import { requestWaitMsMax, type Waiter } from '../../lib/fair-lane-options.ts';
import { TimeoutError, within } from '../../lib/within.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { FeedbackOfPrompts } from '../analytics/index.ts';
import type { FeedbackOfExecutions, ProjectOfFeedback } from '../executions/index.ts';
import {
  findTracesWithFeedback,
  hasExecutionFeedback,
  listFeedbackOfPrompt,
  listFeedbackOfTrace,
  scoresOfTraces,
} from './execution-feedback-store.ts';
import { feedbackToWire } from './feedback.schema.ts';
import { listedOfExecutionMax } from './limits.ts';

type QueryOfPrompt = Parameters<FeedbackOfPrompts['ofPrompt']>[1];

const projectsMax = 10_000;
const lifeMs = 5_000;
/** A read of executions waits this long for Postgres, and then does not ask again for as long. */
const waitMsMax = 1_000;

/**
 * The feedback of executions. Remembers for five seconds whether a project has any, so that reads
 * of a project without feedback ask Postgres once in that time. All workspaces share the memory.
 */
export class FeedbackReads implements FeedbackOfExecutions, FeedbackOfPrompts {
  readonly #postgres: Postgres;
  readonly #whyStuck: () => Error | undefined;
  readonly #hasAny: LRUCache<string, boolean>;
  /**
   * Statements in progress. All workspaces share them. A statement keeps its place and its connection until it ends, also
   * when nobody waits for it any more.
   */
  readonly #lane = new FairLane({
    ...{ name: 'reads of feedback', capacity: 4, perKey: 2 },
    ...{ waitingPerKey: 64, waitingMax: 1_024, waitMsMax: requestWaitMsMax, whyStuck: () => this.#whyStuck() },
  });
  /** Projects for which Postgres is not asked again for now. */
  readonly #skipped = new LRUCache<string, true>({ max: projectsMax, ttl: waitMsMax });

  /** @param whyStuck why Postgres does not answer now; undefined while it does */
  constructor(postgres: Postgres, whyStuck: () => Error | undefined = () => undefined) {
    this.#postgres = postgres;
    this.#whyStuck = whyStuck;
    this.#hasAny = new LRUCache({
      max: projectsMax,
      ttl: lifeMs,
      fetchMethod: (projectId) => hasExecutionFeedback(postgres, projectId),
      // Otherwise `note`, or a full memory, would make the reads fail that wait for the answer.
      ignoreFetchAbort: true,
    });
  }

  /** Notes that a project has feedback. This process then knows it at once. */
  note(projectId: string): void {
    this.#hasAny.set(projectId, true);
  }

  async scoresOf(project: ProjectOfFeedback, traceIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const { projectId } = project;
    const find = async () =>
      (await this.#has(projectId)) ? scoresOfTraces(this.#postgres, projectId, traceIds) : none;
    return traceIds.length === 0 ? none : this.#orWithout(project, none, find);
  }

  async listOf(project: ProjectOfFeedback, traceId: string) {
    const { projectId } = project;
    const empty = { items: [], score: null };
    return this.#orWithout(project, empty, async () => {
      if (!(await this.#has(projectId))) return empty;
      const items = await listFeedbackOfTrace(this.#postgres, { projectId, traceId, limit: listedOfExecutionMax });
      const scores = await scoresOfTraces(this.#postgres, projectId, [traceId]);
      return { items: items.map(feedbackToWire), score: scores.get(traceId) ?? null };
    });
  }

  async tracesWith({ workspaceId, projectId }: ProjectOfFeedback, fromMs: number, max: number, waiter: Waiter) {
    this.#requireAnswers();
    if (!(await this.#has(projectId))) return [];
    const find = () => findTracesWithFeedback(this.#postgres, { projectId, fromMs, max });
    return this.#run(workspaceId, find, waiter);
  }

  /** Feedback on a prompt alone does not count as feedback on executions, so it is always looked for. */
  async ofPrompt({ workspaceId, projectId }: ProjectOfFeedback, query: QueryOfPrompt, waiter: Waiter) {
    this.#requireAnswers();
    const list = () => listFeedbackOfPrompt(this.#postgres, { projectId, ...query });
    return this.#run(workspaceId, list, waiter);
  }

  /** Those that wait for Postgres would keep their places in the lane of reads. */
  #requireAnswers(): void {
    const stuck = this.#whyStuck();
    if (stuck !== undefined) throw stuck;
  }

  async #run<T>(workspaceId: string, read: () => Promise<T>, waiter: Waiter): Promise<T> {
    return this.#lane.run(
      workspaceId,
      () => {
        this.#requireAnswers();
        return read();
      },
      { waiter },
    );
  }

  async #has(projectId: string): Promise<boolean> {
    return (await this.#hasAny.fetch(projectId)) ?? false;
  }

  /** Executions are readable without Postgres, so they are then read without their feedback. */
  async #orWithout<T>({ workspaceId, projectId }: ProjectOfFeedback, without: T, read: () => Promise<T>): Promise<T> {
    if (this.#whyStuck() !== undefined || this.#skipped.get(projectId)) return without;
    try {
      return await within(waitMsMax, (signal) => this.#lane.run(workspaceId, read, { waiter: { signal } }));
    } catch (error) {
      const isBusy = error instanceof RateLimitedError || error instanceof TimeoutError;
      if (!isBusy && !(error instanceof UnavailableError)) throw error;
      this.#skipped.set(projectId, true);
      return without;
    }
  }
}

const none: ReadonlyMap<string, number> = new Map();
