import type { AnyValue, Span } from '../../otlp/span.ts';
import { attribute, attributes, event, field, type Reading } from './candidates.ts';
import { number, unquoted } from './read-value.ts';

/** Milliseconds from the span's start to the first chunk of the answer. */
export const ttftMs = field<number>('ttft_ms', [
  ...attributes(
    [
      'gen_ai.response.time_to_first_chunk',
      'gen_ai.client.operation.time_to_first_chunk',
      'gen_ai.server.time_to_first_token',
    ],
    (value) => duration((number(value) ?? Number.NaN) * 1000),
  ),
  ...attributes(['ai.response.msToFirstChunk', 'ai.stream.msToFirstChunk'], (value) =>
    duration(number(value) ?? Number.NaN),
  ),
  attribute('langfuse.observation.completion_start_time', sinceStart),
  event('ai.stream.firstChunk', (_value, { span }) => firstChunk(span)),
]);

function duration(ms: number): number | undefined {
  return Number.isFinite(ms) && ms >= 0 ? ms : undefined;
}

/**
 * Reads an ISO time that the client sends in quotes. It has whole milliseconds, so it can be up to
 * 1 ms before the start; that counts as 0.
 */
function sinceStart(value: AnyValue, reading: Reading): number | undefined {
  const at = Date.parse(unquoted(value, reading) ?? '');
  const ms = at - Number(reading.span.startUnixNano) / 1e6;
  return duration(ms < 0 && ms > -1 ? 0 : ms);
}

function firstChunk(span: Span): number | undefined {
  const chunk = span.events.find(({ name }) => name === 'ai.stream.firstChunk');
  return chunk && duration(Number(chunk.timeUnixNano - span.startUnixNano) / 1e6);
}
