/** A part of a message, named as in OpenTelemetry's GenAI messages; kinds nobody knows keep their own `type` and members. */
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

/** What a span holds as input or output: text to store, and the messages it is made of when it is. */
export interface Content {
  text: string;
  messages: readonly Message[] | null;
}
