import { SharedCache } from '../../lib/shared-cache.ts';
import type { PromptContent } from '../prompts/index.ts';
import type { Item, ItemCache } from '../versioned/index.ts';
import { type CompiledPrompt, compilePrompt } from './compile-prompt.ts';
import { arePicksCurrent, type PartSource, type PartsProject } from './load-parts.ts';

/** Limits of the cached compiled prompts: their number and their bytes. */
const limits = { entriesMax: 2_000, bytesMax: 32 * 1024 * 1024 };

/**
 * Caches compiled versions of prompts. Each is compiled once as long as its parts resolve to the
 * same versions.
 */
export class CompiledPrompts {
  readonly #prompts: ItemCache<PromptContent>;
  readonly #source: PartSource;
  readonly #kept = new SharedCache<CompiledPrompt>(limits);
  readonly #compiling = new Map<string, Promise<CompiledPrompt>>();

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
    const known = this.#compiling.get(key);
    if (known !== undefined) return known;
    const compiling = this.#compile(project, prompt, number, kept).finally(() => this.#compiling.delete(key));
    this.#compiling.set(key, compiling);
    return compiling;
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
