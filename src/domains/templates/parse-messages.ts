import { templateLimits } from './limits.ts';
import { parseTemplate } from './parse-template.ts';
import { InvalidTemplateError, TemplateLimitError, type TemplateProblem } from './problems.ts';
import type { ParsedTemplate, TemplateFormat } from './template.ts';
import type { TemplateThreads } from './threads/template-threads.ts';

export interface Message {
  role: string;
  content: string;
}
/** A message of a chat prompt, or the place of messages that are given when it is rendered. */
export type PromptMessage = Message | { placeholder: string };

export type ParsedMessage = { role: string; content: ParsedTemplate } | { placeholder: string };

/** Parses every message; the problems of all of them come together, with `messages[2].content` as their path. Throws as `parseTemplate`. */
export async function parseMessages(
  threads: TemplateThreads,
  format: TemplateFormat,
  messages: readonly PromptMessage[],
): Promise<ParsedMessage[]> {
  checkSize(messages);
  const problems: TemplateProblem[] = [];
  const parsed = await Promise.all(
    messages.map(async (message, index): Promise<ParsedMessage> => {
      if ('placeholder' in message) return message;
      try {
        return { role: message.role, content: await parseTemplate(threads, format, message.content) };
      } catch (error) {
        if (!(error instanceof InvalidTemplateError)) throw error;
        problems.push(...error.problems.map((problem) => ({ ...problem, path: contentPath(index) })));
        return { placeholder: '' };
      }
    }),
  );
  if (problems.length === 0) return parsed;
  const order = new Map(messages.map((_, index) => [contentPath(index), index]));
  problems.sort((a, b) => (order.get(a.path) ?? 0) - (order.get(b.path) ?? 0));
  throw new InvalidTemplateError(problems.slice(0, templateLimits.problemsMax));
}

/** The path of a message's text in problems and lints. */
export const contentPath = (index: number) => `messages[${index}].content`;

function checkSize(messages: readonly PromptMessage[]): void {
  const { messagesMax, sourceCharactersMax } = templateLimits;
  if (messages.length > messagesMax) {
    throw new TemplateLimitError(
      `A prompt has at most ${messagesMax} messages; this one has ${messages.length}`,
      'messages',
    );
  }
  const characters = messages.reduce((sum, each) => sum + ('content' in each ? each.content.length : 0), 0);
  if (characters > sourceCharactersMax) {
    throw new TemplateLimitError(
      `The messages have at most ${sourceCharactersMax} characters together; these have ${characters}`,
      'source',
    );
  }
}
