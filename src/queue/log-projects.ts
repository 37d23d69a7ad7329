import { LRUCache } from 'lru-cache';
import type { Redis } from '../stores/redis/client.ts';
import { logProjectsKey } from '../stores/redis/names.ts';

/** Projects that a process remembers; another one is asked about again. */
const rememberedMax = 100_000;
/** Redis is told again of a project in use after this time: it may have lost its data. */
const toldMs = 60_000;

/**
 * Knows which projects have log records. A project is noted before its first record is stored, and
 * asked about after spans are stored. So whoever stores last, spans or records, finds the others.
 */
export class LogProjects {
  readonly #redis: Redis;
  /** When Redis was told of a project, or told of it, by `performance.now()`. */
  readonly #known = new LRUCache<string, number>({ max: rememberedMax });

  constructor(redis: Redis) {
    this.#redis = redis;
  }

  /** Returns whether this process knows that the project has log records. */
  isKnown(projectId: string): boolean {
    return this.#known.has(projectId);
  }

  /**
   * Remembers that a project has log records, for all processes.
   * @throws the error of Redis
   */
  async note(projectId: string): Promise<void> {
    if (this.#mustTell(projectId)) await this.#tell([projectId]);
  }

  /**
   * Returns those of the projects that have log records.
   * @throws the error of Redis
   */
  async among(projectIds: readonly string[]): Promise<ReadonlySet<string>> {
    const unknown = projectIds.filter((id) => !this.isKnown(id));
    const answers = unknown.length === 0 ? [] : await this.#redis.smismember(logProjectsKey, ...unknown);
    for (const [index, id] of unknown.entries()) if (answers[index] === 1) this.#known.set(id, performance.now());
    const known = projectIds.filter((id) => this.isKnown(id));
    const untold = known.filter((id) => this.#mustTell(id));
    if (untold.length > 0) await this.#tell(untold);
    return new Set(known);
  }

  async #tell(projectIds: readonly string[]): Promise<void> {
    await this.#redis.sadd(logProjectsKey, ...projectIds);
    for (const id of projectIds) this.#known.set(id, performance.now());
  }

  #mustTell(projectId: string): boolean {
    return performance.now() - (this.#known.get(projectId) ?? Number.NEGATIVE_INFINITY) > toldMs;
  }
}
