import { normalizeSpan } from '../../src/domains/conventions/normalize-span.ts';
import * as readers from '../../src/domains/conventions/reads.ts';
import type { LogRecord } from '../../src/otlp/log-record.ts';
import type { Span } from '../../src/otlp/span.ts';
import { sentAs } from './log-records.ts';
import { buildSpan } from './span-from-json.ts';

/** Returns records as `normalizeSpan` takes them. */
export const withReaders = (records: readonly LogRecord[]) => ({ records, readers });

/** Normalizes a span with its records. The span is a model call unless its attributes say otherwise. */
export function joined(
  records: readonly LogRecord[],
  attributes: Record<string, unknown> = {},
  given: Partial<Span> = {},
) {
  const sent = Object.entries({ 'gen_ai.operation.name': 'chat', ...attributes });
  const all = new Map(sent.map(([key, value]) => [key, sentAs(value)]));
  return normalizeSpan(buildSpan({ attributes: all, ...given }), undefined, withReaders(records));
}

/** Returns the input and output as what they are: messages, '' or another text. */
export function contentOf(...given: Parameters<typeof joined>): { input: unknown; output: unknown } {
  const { input, output } = joined(...given);
  return { input: parse(input), output: parse(output) };
}

export const text = (content: string) => ({ type: 'text', content });
export const said = (role: string, ...parts: unknown[]) => ({
  role,
  parts: parts.map((part) => (typeof part === 'string' ? text(part) : part)),
});
export const call = (id: string, name: string, args: unknown) => ({ type: 'tool_call', id, name, arguments: args });
export const answer = (id: string, response: unknown) => ({ type: 'tool_call_response', id, response });

function parse(content: string): unknown {
  return content.startsWith('[') ? JSON.parse(content) : content;
}
