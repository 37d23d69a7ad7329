import type { Postgres } from '../../stores/postgres/client.ts';
import type { Invalidations } from '../../stores/postgres/invalidations.ts';
import { addPromptReferences, referencesOf } from '../parts/index.ts';
import {
  checkInputSchema,
  parseMessages,
  parseTemplate,
  type TemplateThreads,
  type WorkspaceThreads,
} from '../templates/index.ts';
import type { ChangeHook, Collection, Reference } from '../versioned/index.ts';
import { type PromptContent, promptKind } from './prompt-content.ts';

/** Returns where prompts are stored, and the checks that run when they change. */
export function promptCollection(deps: {
  postgres: Postgres;
  invalidations: Pick<Invalidations, 'publish'>;
  threads: TemplateThreads;
  changed?: ChangeHook | undefined;
}): Collection<PromptContent> {
  const { postgres, invalidations, threads, changed } = deps;
  return {
    kind: promptKind,
    postgres,
    invalidations,
    checkContent: (content, { project, waiter }) =>
      checkPromptContent(threads.of(project.workspaceId, waiter), content),
    versionAdded: addPromptReferences,
    changed,
  };
}

/**
 * Checks that a prompt's templates parse and its input schema compiles, and returns the parts it
 * references.
 * @throws InvalidTemplateError with positions, InvalidError `invalid_input_schema`
 * @throws TemplateLimitError, RateLimitedError, UnavailableError
 */
export async function checkPromptContent(
  threads: WorkspaceThreads,
  content: PromptContent,
): Promise<readonly Reference[]> {
  if (content.inputSchema !== null) await checkInputSchema(threads, content.inputSchema);
  if (content.type === 'text') {
    return referencesOf((await parseTemplate(threads, content.templateFormat, content.template)).parts);
  }
  const messages = await parseMessages(threads, content.templateFormat, content.messages);
  return referencesOf(messages.flatMap((each) => ('content' in each ? each.content.parts : [])));
}
