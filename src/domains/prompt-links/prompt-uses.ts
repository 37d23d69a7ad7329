import { type LinkableSpan, promptCalls, promptKey } from './link-prompts.ts';
import type { PromptMention } from './prompt.ts';

/** A version of a prompt and how often an execution used it; 0 when only spans above the uses of other prompts name it. */
export interface PromptUse extends PromptMention {
  calls: number;
}

/** The prompts that the spans name, in their order, with their uses counted once. */
export function usesOf(ordered: readonly LinkableSpan[]): PromptUse[] {
  const named = ordered.flatMap(({ prompt }) => (prompt === null ? [] : useOf(prompt, 0)));
  if (named.length === 0) return [];
  const called = [...promptCalls(ordered).values()].map((prompt) => useOf(prompt, 1));
  return mergeUses([...named, ...called]);
}

/** One use for each version, as it was first named. */
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
