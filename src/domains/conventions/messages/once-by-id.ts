import type { Message, Part } from './message.ts';

/**
 * Leaves out calls and answers of tools whose id another one before has, and messages of which
 * nothing remains. Bedrock's instrumentation sends each call as `tool_calls` and again as a content
 * block, and each answer as a message of its own and again in the user's next message.
 */
export function onceById(messages: readonly Message[]): Message[] {
  const seen = new Set<string>();
  return messages
    .map((message) => ({ ...message, parts: message.parts.filter((part) => isNew(part, seen)) }))
    .filter(({ parts }) => parts.length > 0);
}

function isNew(part: Part, seen: Set<string>): boolean {
  if ((part.type !== 'tool_call' && part.type !== 'tool_call_response') || part.id === '') return true;
  const key = `${part.type} ${part.id}`;
  return !seen.has(key) && seen.add(key) !== undefined;
}
