import { textKey } from '../../../lib/text-key.ts';
import { type Reading, warn } from '../candidates.ts';
import { limits } from '../limits.ts';
import { isObject } from '../read-value.ts';
import type { Content, Message } from './message.ts';

/** OpenAI's newer models call the system's message the developer's. */
const systemRoles = new Set<unknown>(['system', 'developer']);

/** Returns whether a message, shaped or as sent, has the role of a system message. */
export function isSystem(message: unknown): boolean {
  return isObject(message) && systemRoles.has(message.role);
}

/** Returns whether the content consists of system messages and nothing else. */
export function isSystemOnly({ messages }: Content): boolean {
  return messages?.every(isSystem) ?? false;
}

/**
 * Puts system messages in front of others. Leaves out those whose parts are in a system message
 * that the others already begin with, because clients send the same instructions in both places.
 */
export function withSystemFirst(system: readonly Message[], messages: readonly Message[]): readonly Message[] {
  const known = new Set(messages.slice(0, systemCount(messages)).map(partsText));
  const missing = system.filter((each) => {
    const text = partsText(each);
    return !known.has(text) && known.add(text);
  });
  return missing.length === 0 ? messages : [...missing, ...messages];
}

/**
 * Returns at most `messagesMax` messages: the system messages at the beginning and the newest of
 * the others. Adds the warning `messages_truncated` when some are left out.
 */
export function newest<T>(messages: readonly T[], reading: Reading): readonly T[] {
  if (messages.length <= limits.messagesMax) return messages;
  warn(reading, 'messages_truncated');
  const system = messages.slice(0, Math.min(systemCount(messages), limits.messagesMax));
  return [...system, ...messages.slice(messages.length - (limits.messagesMax - system.length))];
}

/** Returns how many system messages a list begins with. */
export function systemCount(messages: readonly unknown[]): number {
  const others = messages.findIndex((each) => !isSystem(each));
  return others === -1 ? messages.length : others;
}

/** Equal for messages with the same parts. */
function partsText({ parts }: Message): string {
  return textKey(JSON.stringify(parts));
}
