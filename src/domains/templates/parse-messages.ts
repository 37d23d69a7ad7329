import { templateLimits } from './limits.ts';
import { parseSources } from './parse-template.ts';
import { InvalidTemplateError, TemplateLimitError, type TemplateProblem } from './problems.ts';
import type { ParsedTemplate, TemplateFormat } from './template.ts';
import type { WorkspaceThreads } from './threads/template-threads.ts';

export interface Message {
  role: string;
  content: string;
}
/**
 * A message of a chat prompt, or a placeholder for messages that are given when the prompt is
 * rendered.
 */
export type PromptMessage = Message | { placeholder: string };

export type ParsedMessage = { role: string; content: ParsedTemplate } | { placeholder: string };

/**
 * Parses every message. The problems of all messages are reported together, with paths such as
 * `messages[2].content`.
 * @throws the errors of `parseTemplate`
 */
export async function parseMessages(
  threads: WorkspaceThreads,
  format: TemplateFormat,
  messages: readonly PromptMessage[],
): Promise<ParsedMessage[]> {
  checkSize(messages);
  const problems: TemplateProblem[] = [];
  const sources = messages.flatMap((each) => ('content' in each ? [each.content] : []));
  const parsed = (await parseSources(threads, format, sources)).values();
  const all = messages.map((message, index): ParsedMessage => {
    if ('placeholder' in message) return message;
    const content = parsed.next().value;
    if (content !== undefined && !('problems' in content)) return { role: message.role, content };
    problems.push(...(content?.problems ?? []).map((problem) => ({ ...problem, path: contentPath(index) })));
    return { placeholder: '' };
  });
  if (problems.length === 0) return all;
  throw new InvalidTemplateError(problems.slice(0, templateLimits.problemsMax));
}

/** Returns the path of a message's text for problems and lints. */
export const contentPath = (index: number) => `messages[${index}].content`;

function checkSize(messages: readonly PromptMessage[]): void {
  const { messagesMax, sourceCharactersMax } = templateLimits;
  if (messages.length > messagesMax) {
    throw new TemplateLimitError(
      `A prompt may have at most ${messagesMax} messages; this one has ${messages.length}`,
      'messages',
    );
  }
  const characters = messages.reduce((sum, each) => sum + ('content' in each ? each.content.length : 0), 0);
  if (characters > sourceCharactersMax) {
    throw new TemplateLimitError(
      `The messages may have at most ${sourceCharactersMax} characters together; these have ${characters}`,
      'source',
    );
  }
}
