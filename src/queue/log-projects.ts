import { LRUCache } from 'lru-cache';
import type { Redis } from '../stores/redis/client.ts';
import { logProjectsKey } from '../stores/redis/names.ts';

/** Projects that a process remembers; another one is asked about again. */
const rememberedMax = 100_000;

/**
 * Knows which projects have log records. A project is noted before its first record is stored, and
 * asked about after spans are stored. So whoever stores last, spans or records, finds the others.
 */
export class LogProjects {
  readonly #redis: Redis;
  readonly #known = new LRUCache<string, true>({ max: rememberedMax });

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
    if (this.isKnown(projectId)) return;
    await this.#redis.sadd(logProjectsKey, projectId);
    this.#known.set(projectId, true);
  }

  /**
   * Returns those of the projects that have log records.
   * @throws the error of Redis
   */
  async among(projectIds: readonly string[]): Promise<ReadonlySet<string>> {
    const unknown = projectIds.filter((id) => !this.isKnown(id));
    const answers = unknown.length === 0 ? [] : await this.#redis.smismember(logProjectsKey, ...unknown);
    for (const [index, id] of unknown.entries()) if (answers[index] === 1) this.#known.set(id, true);
    return new Set(projectIds.filter((id) => this.isKnown(id)));
  }
}
