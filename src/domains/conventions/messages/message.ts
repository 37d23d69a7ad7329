/**
 * A message part, named as in OpenTelemetry's GenAI messages. An unknown type is kept whole as
 * `other`.
 */
export type Part =
  | { type: 'text' | 'reasoning'; content: string }
  | { type: 'tool_call'; id: string; name: string; arguments: unknown }
  | { type: 'tool_call_response'; id: string; response: unknown }
  | { type: 'blob'; mime_type: string; content: unknown }
  | { type: 'uri'; mime_type: string; uri: unknown }
  | { type: 'file'; mime_type: string; file_id: unknown }
  | { type: 'other'; value: unknown };

export interface Message {
  role: string;
  parts: Part[];
  finish_reason?: string;
}

/**
 * Input or output of a span: the text to store, and its messages, or null when it does not consist
 * of messages.
 */
export interface Content {
  text: string;
  messages: readonly Message[] | null;
}
