import { hash } from 'node:crypto';
import type { CandidateContent, ChatMessage } from './ports.ts';

/** Bytes of a token, about, in English text. */
export const bytesPerToken = 4;

/** Returns the SHA-256 of a candidate's content in hex. */
export function contentHash(content: CandidateContent): string {
  const parts =
    content.type === 'text'
      ? [content.template]
      : content.messages.map((message) =>
          'placeholder' in message ? [message.placeholder] : [message.role, message.content],
        );
  return hash('sha256', JSON.stringify([content.type, parts]));
}

/** Returns how many tokens the templates of a candidate have, about, before any input is inserted. */
export function promptTokensOf(content: CandidateContent): number {
  const bytes = templatesOf(content).reduce((sum, { template }) => sum + Buffer.byteLength(template), 0);
  return Math.ceil(bytes / bytesPerToken);
}

/** Returns the UTF-8 bytes of messages. */
export function bytesOf(messages: readonly ChatMessage[]): number {
  return messages.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0);
}

/** A template of a prompt: its place among the messages and its role. A text prompt has one, of a user. */
export interface MessageTemplate {
  index: number;
  role: string;
  template: string;
}

/** Returns the templates of a candidate, without placeholders. */
export function templatesOf(content: CandidateContent): MessageTemplate[] {
  if (content.type === 'text') return [{ index: 0, role: 'user', template: content.template }];
  return content.messages.flatMap((message, index) =>
    'placeholder' in message ? [] : [{ index, role: message.role, template: message.content }],
  );
}

/** Returns the content with another template at one place. Roles, order and placeholders stay. */
export function withTemplate(content: CandidateContent, at: number, template: string): CandidateContent {
  if (content.type === 'text') return { type: 'text', template };
  return {
    type: 'chat',
    messages: content.messages.map((message, index) =>
      index === at && !('placeholder' in message) ? { role: message.role, content: template } : message,
    ),
  };
}
