import { LRUCache } from 'lru-cache';
import { InvalidError } from '../../lib/errors.ts';
import { inSharedTurn } from '../../lib/pace.ts';
import { textKey } from '../../lib/text-key.ts';
import type { Analysis, CandidateContent, ChatMessage, SearchPorts } from '../prompt-search/index.ts';
import type { PromptContent } from '../prompts/index.ts';
import {
  type CompiledPrompt,
  compilePrompt,
  fillVariables,
  type LoadedParts,
  loadPicked,
  type PartPick,
  type PartSource,
  type PartsProject,
  renderCompiled,
} from '../rendering/index.ts';
import { textsOf } from '../templates/index.ts';

/** Candidates of a run that are kept compiled. The search evaluates one or two at a time. */
const compiledMax = 16;

interface CandidateRun {
  project: PartsProject;
  base: PromptContent;
  picks?: readonly PartPick[] | undefined;
  signal: AbortSignal;
}

/**
 * Returns how a run renders and analyzes candidates: by the engine that renders stored versions, with
 * the format and the input schema of the base version, and with one version of each of its parts. All candidates have the
 * same, also if a part gets a newer version meanwhile. A candidate that names another part is refused.
 * @param run.picks the versions of the parts; otherwise those of now
 */
export function candidateTexts(source: PartSource, run: CandidateRun): Pick<SearchPorts, 'render' | 'analyze'> {
  const kept = new LRUCache<string, Promise<CompiledPrompt>>({ max: compiledMax });
  /** Keys by object, because all rows of a batch have the same, and a content may have a mebibyte. */
  const keys = new WeakMap<CandidateContent, string>();
  const { project, base, signal } = run;
  const threads = source.threads.of(project.workspaceId, { signal });
  const parts = once(() => loadPartsOf(source, run));
  const compile = (content: CandidateContent): Promise<CompiledPrompt> => {
    const key = keys.get(content) ?? textKey(JSON.stringify(content));
    keys.set(content, key);
    const known = kept.get(key);
    if (known !== undefined) return known;
    const compiling = parts().then((loaded) => compilePrompt(source, project, withText(base, content), loaded));
    kept.set(key, compiling);
    // An error of a busy thread must not stay.
    compiling.catch(() => kept.delete(key));
    return compiling;
  };
  return {
    async render(content, inputs) {
      const compiled = await compile(content);
      // All rows of a batch wait for the same candidate. Checking and rendering one takes up to 25 ms.
      const placeholders = Object.fromEntries(compiled.placeholders.map((name) => [name, []]));
      const given = { variables: inputs, placeholders, onMissing: 'error' as const };
      const { variables } = await inSharedTurn(project.workspaceId, () => fillVariables(threads, compiled, given));
      const rendered = await inSharedTurn(project.workspaceId, () =>
        renderCompiled(threads, compiled, { ...given, variables }),
      );
      if ('text' in rendered) return [{ role: 'user', content: rendered.text }];
      return rendered.messages.map(
        ({ role, content: text }): ChatMessage => ({ role: String(role), content: asText(text) }),
      );
    },
    async analyze(content) {
      try {
        return analysisOf(await compile(content));
      } catch (error) {
        if (error instanceof InvalidError) return { ok: false, problem: error.message };
        throw error;
      }
    },
  };
}

async function loadPartsOf(source: PartSource, { project, base, picks }: CandidateRun): Promise<LoadedParts> {
  return loadPicked(source, project, picks ?? (await compilePrompt(source, project, base)).picks);
}

/** Returns a function that loads something once, or again after an error. */
function once<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined;
  return () => {
    if (loading !== undefined) return loading;
    const begun = load();
    loading = begun;
    begun.catch(() => {
      loading = undefined;
    });
    return begun;
  };
}

/** Returns the content of a version with the text of a candidate. */
export function withText(base: PromptContent, content: CandidateContent): PromptContent {
  const { templateFormat, config, inputSchema } = base;
  const text =
    content.type === 'text'
      ? { type: content.type, template: content.template }
      : { type: content.type, messages: content.messages };
  return { ...text, templateFormat, config, inputSchema };
}

/** Returns the text of a version as a candidate. */
export function textOf(content: PromptContent): CandidateContent {
  return content.type === 'text'
    ? { type: 'text', template: content.template }
    : { type: 'chat', messages: content.messages };
}

function analysisOf({ prompt, expanded, variables, placeholders }: CompiledPrompt): Analysis {
  const unknown = expanded.problems.find(({ code }) => code === 'unknown_part');
  if (unknown !== undefined) return { ok: false, problem: unknown.message };
  const refs = textsOf(prompt).flatMap(({ template }) => template.parts.map(({ ref }) => ref));
  const named = placeholders.map((name) => `placeholders.${name}`);
  const required = [...variables].flatMap(([path, isRequired]) => (isRequired ? [path] : []));
  return { ok: true, variables: [...variables.keys(), ...named], required, parts: [...new Set(refs)] };
}

const asText = (content: unknown) => (typeof content === 'string' ? content : JSON.stringify(content ?? ''));
