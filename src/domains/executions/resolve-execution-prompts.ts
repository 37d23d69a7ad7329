import { mergeUses, type PromptFinder, resolvePromptRefs } from '../prompt-links/index.ts';
import type { Execution } from '../summaries/index.ts';

/**
 * Returns the stored executions of one project with their prompts resolved to the prompts known
 * today. Never rejects.
 */
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
