import { type PromptFinder, resolvePromptRefs, type SpanPrompt } from '../prompts/index.ts';
import type { Execution } from './execution.ts';
import { mergeUses } from './prompt-uses.ts';

/** The spans with their prompts as they are known today, so that a prompt that was created later links up. Never rejects. */
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

/** The same for stored summaries of one project. */
export async function resolveExecutionPrompts(
  known: PromptFinder,
  projectId: string,
  executions: readonly Execution[],
): Promise<readonly Execution[]> {
  const uses = executions.flatMap(({ prompts }) => prompts);
  const resolved = await resolvePromptRefs(known, projectId, uses);
  if (resolved === uses) return executions;
  let next = 0;
  return executions.map((execution) => {
    const start = next;
    next += execution.prompts.length;
    return { ...execution, prompts: mergeUses(resolved.slice(start, next)) };
  });
}
