import { limits } from './limits.ts';
import type { Content, Message, Part } from './messages/message.ts';
import { cut, parseJson } from './read-value.ts';

/** More characters than a preview needs, even when half of them are white space. */
const sourceCharsMax = limits.previewCharsMax * 4;

/**
 * Returns a line for people to read. For messages it is the last text of `role`, else the last
 * text, else the last tool call. For other text it is the beginning.
 */
export function preview(content: Content | undefined, role: 'user' | 'assistant'): string {
  if (content === undefined) return '';
  const { messages } = content;
  const text =
    messages === null
      ? plainText(content.text)
      : (lastText(messages, role) ?? lastText(messages) ?? lastCall(messages));
  return cut(inOneLine(cut(text, sourceCharsMax)), limits.previewCharsMax);
}

/**
 * Replaces runs of white space by one space. Checks only the shown characters first, because most
 * texts need no change.
 */
function inOneLine(text: string): string {
  const shown = cut(text, limits.previewCharsMax);
  return /^\s|\s\s|[^\S ]/.test(shown) ? text.replace(/\s+/g, ' ').trim() : shown;
}

/** Removes the quotes of a plain text that was sent as a JSON string, as some clients do. */
function plainText(text: string): string {
  if (!text.startsWith('"') || text.length > sourceCharsMax) return text;
  const inner = parseJson(text);
  return typeof inner === 'string' ? inner : text;
}

function lastText(messages: readonly Message[], role?: string): string | undefined {
  const said = messages.findLast(
    (message) => (role === undefined || message.role === role) && message.parts.some(isText),
  );
  return said?.parts
    .filter(isText)
    .slice(0, limits.previewCharsMax)
    .map(({ content }) => cut(content, sourceCharsMax))
    .join(' ');
}

function lastCall(messages: readonly Message[]): string {
  const part = messages.findLast(({ parts }) => parts.length > 0)?.parts.at(-1);
  if (part === undefined) return '';
  if (part.type === 'tool_call') return `${part.name}(${shortJson(part.arguments)})`;
  return part.type === 'tool_call_response' ? shortJson(part.response) : `[${part.type}]`;
}

function shortJson(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

function isText(part: Part): part is Extract<Part, { type: 'text' | 'reasoning' }> {
  return part.type === 'text';
}
