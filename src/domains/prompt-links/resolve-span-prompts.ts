import type { PromptFinder } from './known-prompts.ts';
import type { SpanPrompt } from './prompt.ts';
import { resolvePromptRefs } from './resolve-prompt-refs.ts';

/**
 * Returns the spans with their prompts as known today, so that a prompt created later is linked
 * too. Never rejects.
 */
export async function resolveSpanPrompts<Span extends { prompt: SpanPrompt | null }>(
  known: PromptFinder,
  projectId: string,
  spans: readonly Span[],
): Promise<readonly Span[]> {
  const prompts = spans.flatMap(({ prompt }) => prompt ?? []);
  const resolved = await resolvePromptRefs(known, projectId, prompts);
  if (resolved === prompts) return spans;
  let next = 0;
  return spans.map((span) => (span.prompt === null ? span : { ...span, prompt: resolved[next++] ?? span.prompt }));
}
