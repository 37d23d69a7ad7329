import type { PromptContent } from '../prompts/index.ts';
import {
  type ParsedMessage,
  type ParsedTemplate,
  parseMessages,
  parseTemplate,
  type WorkspaceThreads,
} from '../templates/index.ts';

/** A prompt's text, or its messages, as they are rendered. */
export type ParsedPrompt = { template: ParsedTemplate } | { messages: readonly ParsedMessage[] };

/** Throws InvalidTemplateError, TemplateLimitError, UnavailableError. */
export async function parseContent(threads: WorkspaceThreads, content: PromptContent): Promise<ParsedPrompt> {
  const { templateFormat } = content;
  if (content.type === 'text') return { template: await parseTemplate(threads, templateFormat, content.template) };
  return { messages: await parseMessages(threads, templateFormat, content.messages) };
}

/** Names of a chat's placeholders, each once. */
export function placeholdersOf(prompt: ParsedPrompt): string[] {
  const messages = 'messages' in prompt ? prompt.messages : [];
  return [...new Set(messages.flatMap((each) => ('placeholder' in each ? [each.placeholder] : [])))];
}
