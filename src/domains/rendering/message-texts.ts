/**
 * A message of a rendered chat: one of the prompt's, or one that the caller gave for a placeholder.
 */
export type RenderedMessage = object & { role?: unknown; content?: unknown };

/**
 * Returns the texts of messages for counting tokens. `whole` is false when a message has other
 * content, such as an image.
 */
export function messageTexts(messages: readonly RenderedMessage[]): { texts: string[]; whole: boolean } {
  const texts: string[] = [];
  let whole = true;
  for (const { content, ...rest } of messages) {
    if (typeof content === 'string') texts.push(content);
    else if (Array.isArray(content)) for (const part of content) whole = addText(texts, part) && whole;
    whole &&= Object.keys(rest).every((key) => key === 'role');
  }
  return { texts, whole };
}

function addText(texts: string[], part: unknown): boolean {
  const isText = typeof part === 'object' && part !== null && 'text' in part && typeof part.text === 'string';
  if (isText) texts.push(String(part.text));
  return isText;
}
