import { SharedCache } from '../../lib/shared-cache.ts';
import type { PromptContent } from '../prompts/index.ts';
import type { Item, ItemCache } from '../versioned/index.ts';
import { type CompiledPrompt, compilePrompt } from './compile-prompt.ts';
import { arePicksCurrent, type PartSource, type PartsProject } from './load-parts.ts';

/** Limits of the cached compiled prompts: their number and their bytes. */
const limits = { entriesMax: 2_000, bytesMax: 32 * 1024 * 1024 };

/** A compilation in progress, and the next one, which renders that came meanwhile wait for. */
interface Compiling {
  now: Promise<CompiledPrompt>;
  next?: Promise<CompiledPrompt>;
}

/**
 * Caches compiled versions of prompts. Each is compiled once as long as its parts resolve to the
 * same versions.
 */
export class CompiledPrompts {
  readonly #prompts: ItemCache<PromptContent>;
  readonly #source: PartSource;
  readonly #kept = new SharedCache<CompiledPrompt>(limits);
  readonly #compiling = new Map<string, Compiling>();

  constructor(prompts: ItemCache<PromptContent>, source: PartSource) {
    this.#prompts = prompts;
    this.#source = source;
  }

  /**
   * Returns a compiled version of a prompt.
   * @throws NotFoundError (`version_not_found`), and the errors of `compilePrompt`
   */
  async find(project: PartsProject, prompt: Item, number: number): Promise<CompiledPrompt> {
    const key = `${prompt.id} ${number}`;
    const kept = this.#kept.get(project.workspaceId, key);
    if (kept !== undefined && (await arePicksCurrent(this.#source, project, kept.picks))) return kept;
    const open = this.#compiling.get(key);
    if (open !== undefined) {
      // A part may have changed since it began. The next one begins after this call.
      open.next ??= open.now.catch(() => undefined).then(() => this.find(project, prompt, number));
      return open.next;
    }
    const now = this.#compile(project, prompt, number, kept).finally(() => this.#compiling.delete(key));
    this.#compiling.set(key, { now });
    return now;
  }

  async #compile(
    project: PartsProject,
    prompt: Item,
    number: number,
    stale: CompiledPrompt | undefined,
  ): Promise<CompiledPrompt> {
    const content = stale?.content ?? (await this.#prompts.readVersion(project, prompt, number)).content;
    const compiled = await compilePrompt(this.#source, project, content);
    this.#kept.set(project.workspaceId, `${prompt.id} ${number}`, compiled, compiled.bytes);
    return compiled;
  }
}
