import { mergeUses, type PromptFinder, resolvePromptRefs } from '../prompt-links/index.ts';
import type { Execution } from '../summaries/index.ts';

/** The stored summaries of one project with their prompts as they are known today. Never rejects. */
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
