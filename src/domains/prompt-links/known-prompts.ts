import { LRUCache } from 'lru-cache';
import { within } from '../../lib/within.ts';
import type { Logger } from '../../telemetry/logger.ts';
import type { KnownPrompt } from './prompt.ts';

/** A renamed or replaced prompt is noticed after this. */
const knownMs = 5_000;
/** Longest anybody waits for the database; what is not known by then is looked up by a later reader. */
const waitMsMax = 250;
/** How long nobody asks after the database did not answer. */
const restMs = 2_000;
const projectsMax = 200;
const entriesMax = 500;
/** Names asked for in one statement; a body with more distinct ones leaves the rest to its readers. */
const askedMax = 200;
/** Nothing longer is a name, a slug, an id or a key. */
const wantedCharsMax = 200;

/** Who can say which prompts a project has: {@link KnownPrompts}, or somebody who asks it. */
export type PromptFinder = Pick<KnownPrompts, 'find'>;

export interface KnownPromptsOptions {
  /** Answers what exists; rejects while it cannot say. */
  find: (projectId: string, wanted: readonly string[]) => Promise<ReadonlyMap<string, KnownPrompt>>;
  /** How long a name that nothing bears is taken to stay so. */
  unknownMs: number;
  logger: Logger;
}

interface Entry {
  prompt: KnownPrompt | undefined;
  freshUntilMs: number;
  loading: Promise<void> | undefined;
}

type Entries = LRUCache<string, Entry>;

/**
 * Prompts by what they are called, remembered for each project within bounds. While the database is away the last answer holds and
 * what was never asked is not known; nobody waits for it longer than a quarter of a second every two.
 */
export class KnownPrompts {
  readonly #options: KnownPromptsOptions;
  readonly #projects = new LRUCache<string, Entries>({ max: projectsMax });
  #restUntilMs = 0;

  constructor(options: KnownPromptsOptions) {
    this.#options = options;
  }

  /** Those of the wanted that are known to exist in the project. Never rejects. */
  async find(projectId: string, wanted: ReadonlySet<string>): Promise<ReadonlyMap<string, KnownPrompt>> {
    const entries = this.#entriesOf(projectId);
    if (Date.now() >= this.#restUntilMs) {
      const loading = this.#load(projectId, entries, [...wanted].filter(canBeOne));
      if (loading.length > 0) await within(waitMsMax, () => Promise.all(loading)).catch((error) => this.#rest(error));
    }
    const found = new Map<string, KnownPrompt>();
    for (const each of wanted) {
      const prompt = entries.get(each)?.prompt;
      if (prompt !== undefined) found.set(each, prompt);
    }
    return found;
  }

  /** What is under way for the wanted, begun here where nobody else has asked. */
  #load(projectId: string, entries: Entries, wanted: readonly string[]): Promise<void>[] {
    const nowMs = Date.now();
    const stale = wanted.filter((each) => (entries.get(each)?.freshUntilMs ?? 0) <= nowMs);
    const missing = stale.filter((each) => entries.get(each)?.loading === undefined).slice(0, askedMax);
    if (missing.length > 0) {
      const loading = this.#ask(projectId, entries, missing);
      for (const each of missing) entries.set(each, { ...(entries.get(each) ?? nothing), loading });
    }
    return [...new Set(stale.flatMap((each) => entries.get(each)?.loading ?? []))];
  }

  async #ask(projectId: string, entries: Entries, wanted: readonly string[]): Promise<void> {
    try {
      const found = await this.#options.find(projectId, wanted);
      for (const each of wanted) {
        const prompt = found.get(each);
        const freshUntilMs = Date.now() + (prompt === undefined ? this.#options.unknownMs : knownMs);
        entries.set(each, { prompt, freshUntilMs, loading: undefined });
      }
    } catch (error) {
      for (const each of wanted) {
        const entry = entries.get(each);
        if (entry !== undefined) entry.loading = undefined;
      }
      this.#rest(error);
    }
  }

  #rest(error: unknown): void {
    if (Date.now() < this.#restUntilMs) return;
    this.#restUntilMs = Date.now() + restMs;
    this.#options.logger.warn({ err: error }, 'prompts could not be looked up; their spans are linked when read');
  }

  #entriesOf(projectId: string): Entries {
    const known = this.#projects.get(projectId);
    if (known !== undefined) return known;
    const entries: Entries = new LRUCache({ max: entriesMax });
    this.#projects.set(projectId, entries);
    return entries;
  }
}

const nothing: Entry = { prompt: undefined, freshUntilMs: 0, loading: undefined };

/** Postgres holds no U+0000. */
function canBeOne(wanted: string): boolean {
  return wanted.length <= wantedCharsMax && !wanted.includes('\u0000');
}
