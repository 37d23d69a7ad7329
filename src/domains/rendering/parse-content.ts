import type { PromptContent } from '../prompts/index.ts';
import {
  type ParsedMessage,
  type ParsedTemplate,
  parseMessages,
  parseTemplate,
  type WorkspaceThreads,
} from '../templates/index.ts';

/** The parsed text of a prompt, or its parsed messages. */
export type ParsedPrompt = { template: ParsedTemplate } | { messages: readonly ParsedMessage[] };

/**
 * Parses the templates of a prompt.
 * @throws InvalidTemplateError, TemplateLimitError, RateLimitedError, UnavailableError
 */
export async function parseContent(threads: WorkspaceThreads, content: PromptContent): Promise<ParsedPrompt> {
  const { templateFormat } = content;
  if (content.type === 'text') return { template: await parseTemplate(threads, templateFormat, content.template) };
  return { messages: await parseMessages(threads, templateFormat, content.messages) };
}

/** Returns the names of a chat's placeholders, each once. */
export function placeholdersOf(prompt: ParsedPrompt): string[] {
  const messages = 'messages' in prompt ? prompt.messages : [];
  return [...new Set(messages.flatMap((each) => ('placeholder' in each ? [each.placeholder] : [])))];
}
