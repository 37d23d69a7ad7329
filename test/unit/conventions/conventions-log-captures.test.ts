import { describe, expect, test } from 'vitest';
import type { Message } from '../../../src/domains/conventions/messages/message.ts';
import { normalizeSpan } from '../../../src/domains/conventions/normalize-span.ts';
import { isGenAiRecord } from '../../../src/domains/conventions/reads.ts';
import type { NormalizedSpan } from '../../../src/domains/spans/normalized-span.ts';
import type { Span } from '../../../src/otlp/span.ts';
import { type ExpectedLoggedSpan, logManifest, readLogCapture } from '../../support/log-records.ts';
import { withReaders } from '../../support/logged-span.ts';

describe.each(Object.entries(logManifest))('spans of %s with their log records', (client, { logs }) => {
  const { spans, records } = readLogCapture(client);

  test('have as many GenAI records as the manifest says', () =>
    expect(records.filter(({ eventName }) => isGenAiRecord(eventName))).toHaveLength(logs.genai));

  test.each(logs.spans)('$name $span_id has the content that the manifest says', (expected) => {
    const span = spans.find(({ spanId }) => spanId === expected.span_id);
    const own = records.filter(({ spanId }) => spanId === expected.span_id);
    if (span === undefined) throw new Error(`The capture has no span ${expected.span_id}.`);
    expect(own.filter(({ eventName }) => isGenAiRecord(eventName))).toHaveLength(expected.log_records.genai);
    const normalized = normalizeSpan(span, undefined, withReaders(own));
    expect(found(span, normalized, expected)).toEqual(withoutPlace(expected));
    expect(normalized.warnings).toEqual([]);
  });

  test('stay as they are without their records', () => {
    for (const span of spans) expect(normalizeSpan(span, undefined, withReaders([]))).toEqual(normalizeSpan(span));
  });
});

/** Returns what the product found, of the things that the manifest expects of this span. */
function found(span: Span, normalized: NormalizedSpan, expected: ExpectedLoggedSpan) {
  const input = messages(normalized.input);
  const output = messages(normalized.output);
  const all = {
    kind: normalized.kind,
    input,
    output,
    finish_reasons: finishReasons(span, output),
    texts: texts([...input, ...output]),
    tool_calls_input: calls(input),
    tool_calls_output: calls(output),
  };
  return Object.fromEntries(Object.entries(all).filter(([name]) => name in expected));
}

function withoutPlace(expected: ExpectedLoggedSpan) {
  const names = ['kind', 'input', 'output', 'finish_reasons', 'texts', 'tool_calls_input', 'tool_calls_output'];
  return Object.fromEntries(Object.entries(expected).filter(([name]) => names.includes(name)));
}

/** A choice without content is no message. The span's own attribute still has its finish reason. */
function finishReasons(span: Span, output: readonly Message[]): unknown {
  const reasons = output.flatMap(({ finish_reason: reason }) => reason ?? []);
  return reasons.length > 0 ? reasons : (span.attributes.get('gen_ai.response.finish_reasons') ?? []);
}

function messages(text: string): Message[] {
  return text === '' ? [] : JSON.parse(text);
}

function texts(list: readonly Message[]): string[] {
  return list.flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'text' ? part.content : [])));
}

function calls(list: readonly Message[]): string[] {
  return list.flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'tool_call' ? part.name : [])));
}
