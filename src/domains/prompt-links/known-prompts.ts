import { LRUCache } from 'lru-cache';
import { RateLimitedError, StatementTooSlowError } from '../../lib/errors.ts';
import { FairLane } from '../../lib/fair-lane.ts';
import { SharedCache } from '../../lib/shared-cache.ts';
import { within } from '../../lib/within.ts';
import type { Logger } from '../../telemetry/logger.ts';
import type { KnownPrompt } from './prompt.ts';

/** A prompt that was renamed or replaced is noticed after this time. */
const knownMs = 5_000;
/**
 * Longest time that a caller waits for Postgres. A later reader looks up what is not known by then.
 */
const waitMsMax = 250;
/** Pause without queries after Postgres did not answer. */
const restMs = 2_000;
const projectsMax = 200;
const entriesMax = 500;
/** Maximum number of names in one statement. */
const statementNamesMax = 500;
/** No name, slug, id or key is longer. */
const wantedCharsMax = 200;

/** Finds the prompts of projects of one workspace, in this thread or by asking the main thread. */
export interface PromptFinder {
  /** Returns those of the wanted prompts that are known to exist in the project. Never rejects. */
  find(projectId: string, wanted: ReadonlySet<string>): Promise<ReadonlyMap<string, KnownPrompt>>;
}

/** The prompts of all workspaces. */
export type SharedPrompts = Pick<KnownPrompts, 'of'>;

export interface KnownPromptsOptions {
  /** Returns the prompts that exist; rejects while Postgres is unavailable. */
  find: (projectId: string, wanted: readonly string[]) => Promise<ReadonlyMap<string, KnownPrompt>>;
  /** How long a name without a prompt is assumed to stay without one. */
  unknownMs: number;
  /** Maximum number of names that one call looks up. The others are as before. */
  askedMax: number;
  logger: Logger;
}

interface Entry {
  prompt: KnownPrompt | undefined;
  freshUntilMs: number;
}

type Found = ReadonlyMap<string, KnownPrompt>;

interface ProjectKey {
  workspaceId: string;
  projectId: string;
}

/** What is known of the prompts of one project. */
interface Project {
  entries: LRUCache<string, Entry>;
  /** No look-up begins before, after a slow one. */
  restUntilMs: number;
}

/**
 * Caches prompts by the names that refer to them: 500 entries for each of 200 projects. A full cache loses projects of
 * a workspace that has more than a quarter of them first. While Postgres is unavailable, the last answers stay valid and names that were never looked up are
 * unknown. Then callers wait for Postgres at most 250 ms in every 2 s, and so do those of a project
 * whose look-ups take longer.
 */
export class KnownPrompts {
  readonly #options: KnownPromptsOptions;
  /** Whole projects, so that an ingested name costs no more than in a cache that is not shared. */
  readonly #projects = new SharedCache<Project>({ bytesMax: projectsMax, entriesMax: projectsMax });
  /** Look-ups in progress by project and name. Apart from the entries, so that those stay while more is looked up. */
  readonly #pending = new Map<string, Promise<Found>>();
  /**
   * Statements in progress. All workspaces share them, so that connections are left for prices. A statement keeps its
   * place until it ends, also when nobody waits for it any more.
   */
  readonly #lane = new FairLane({
    ...{ name: 'look-ups of prompts', capacity: 2, perKey: 1 },
    ...{ waitingPerKey: 64, waitingMax: Number.POSITIVE_INFINITY },
  });
  /** No look-up of any project begins before, after Postgres refused one. */
  #restUntilMs = 0;

  constructor(options: KnownPromptsOptions) {
    this.#options = options;
  }

  /** Returns the finder of a workspace, whose statements take its places. */
  of(workspaceId: string): PromptFinder {
    return { find: (projectId, wanted) => this.#find({ workspaceId, projectId }, wanted) };
  }

  async #find(key: ProjectKey, wanted: ReadonlySet<string>): Promise<Found> {
    /** More than there are entries can be wanted at once. */
    const loaded = new Map<string, KnownPrompt>();
    const project = this.#projectOf(key);
    if (Date.now() >= Math.max(this.#restUntilMs, project.restUntilMs)) {
      const loading = this.#load(key, project, [...wanted].filter(canBeOne));
      const take = async (loads: Promise<Found>) => {
        for (const [each, prompt] of await loads) loaded.set(each, prompt);
      };
      if (loading.length > 0)
        await within(waitMsMax, () => Promise.all(loading.map(take))).catch((error) => this.#restOf(project, error));
    }
    const found = new Map<string, KnownPrompt>();
    for (const each of wanted) {
      const prompt = loaded.get(each) ?? project.entries.get(each)?.prompt;
      if (prompt !== undefined) found.set(each, prompt);
    }
    return found;
  }

  /**
   * Returns the pending lookups of the wanted names. Starts lookups for names that no caller has
   * asked for yet.
   */
  #load(key: ProjectKey, project: Project, wanted: readonly string[]): Promise<Found>[] {
    const nowMs = Date.now();
    const stale = wanted.filter((each) => (project.entries.get(each)?.freshUntilMs ?? 0) <= nowMs);
    const keyOf = (each: string) => `${key.projectId} ${each}`;
    const missing = stale.filter((each) => !this.#pending.has(keyOf(each))).slice(0, this.#options.askedMax);
    for (let at = 0; at < missing.length; at += statementNamesMax) {
      const asked = missing.slice(at, at + statementNamesMax);
      const loading = this.#ask(key, project, asked).finally(() => {
        for (const each of asked) this.#pending.delete(keyOf(each));
      });
      for (const each of asked) this.#pending.set(keyOf(each), loading);
    }
    return [...new Set(stale.flatMap((each) => this.#pending.get(keyOf(each)) ?? []))];
  }

  async #ask({ workspaceId, projectId }: ProjectKey, project: Project, wanted: readonly string[]): Promise<Found> {
    const { entries } = project;
    try {
      const found = await this.#lane.run(workspaceId, () => this.#options.find(projectId, wanted));
      for (const each of wanted) {
        const prompt = found.get(each);
        const lifeMs = prompt === undefined ? this.#options.unknownMs : knownMs;
        // What is unknown and asked for again at once needs no entry.
        if (lifeMs === 0) entries.delete(each);
        else entries.set(each, { prompt, freshUntilMs: Date.now() + lifeMs });
      }
      return found;
    } catch (error) {
      // The names of this project are the reason, so the others go on.
      const isOwn = error instanceof RateLimitedError || error instanceof StatementTooSlowError;
      if (isOwn) this.#restOf(project, error);
      else this.#rest(error);
      return new Map();
    }
  }

  #restOf(project: Project, slow: unknown): void {
    project.restUntilMs = Date.now() + restMs;
    this.#tell(slow);
  }

  #rest(error: unknown): void {
    if (Date.now() < this.#restUntilMs) return;
    this.#restUntilMs = Date.now() + restMs;
    this.#tell(error);
  }

  #tell(error: unknown): void {
    this.#options.logger.warn(
      { err: error },
      'prompts could not be looked up; their spans are linked when they are read',
    );
  }

  #projectOf({ workspaceId, projectId }: ProjectKey): Project {
    const known = this.#projects.get(workspaceId, projectId);
    if (known !== undefined) return known;
    const project: Project = { entries: new LRUCache({ max: entriesMax }), restUntilMs: 0 };
    this.#projects.set(workspaceId, projectId, project, 1);
    return project;
  }
}

/** Returns whether the text can refer to a prompt. Postgres cannot store U+0000. */
export function canBeOne(wanted: string): boolean {
  return wanted.length <= wantedCharsMax && !wanted.includes('\u0000');
}
