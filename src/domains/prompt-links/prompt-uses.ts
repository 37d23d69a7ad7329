import { type LinkableSpan, promptKey } from './link-prompts.ts';
import type { PromptMention, SpanPrompt } from './prompt.ts';

/**
 * A version of a prompt and how often an execution used it. `calls` is 0 when the prompt is named
 * only by spans above the uses of other prompts.
 */
export interface PromptUse extends PromptMention {
  calls: number;
}

/**
 * Returns the prompts that the spans name, in that order. `calls` are the uses, each counted once, as
 * `promptCalls` returns them.
 */
export function usesOf(ordered: readonly LinkableSpan[], calls: ReadonlyMap<string, SpanPrompt>): PromptUse[] {
  const named = ordered.flatMap(({ prompt }) => (prompt === null ? [] : useOf(prompt, 0)));
  if (named.length === 0) return [];
  const called = [...calls.values()].map((prompt) => useOf(prompt, 1));
  return mergeUses([...named, ...called]);
}

/** Merges the uses of each version into the first of them and adds up their calls. */
export function mergeUses(uses: readonly PromptUse[]): PromptUse[] {
  const merged = new Map<string, PromptUse>();
  for (const use of uses) {
    const key = promptKey(use);
    const before = merged.get(key);
    if (before === undefined) merged.set(key, { ...use });
    else before.calls += use.calls;
  }
  return [...merged.values()];
}

function useOf({ id, name, version, key }: PromptMention, calls: number): PromptUse {
  return { id, name, version, key, calls };
}
