import { textKey } from '../../../lib/text-key.ts';
import type { LogRecord } from '../../../otlp/log-record.ts';
import type { AnyValue, SpanEvent } from '../../../otlp/span.ts';
import { type Index, noteEvent, type Reading, startReading } from '../candidates.ts';
import { DETAILS_EVENT } from '../messages/event-messages.ts';
import { eventReading, parsed } from '../read-value.ts';
import { recordEvent } from './record-event.ts';
import { recordMeaning } from './record-meaning.ts';

/** Lists that clients send again with every part of an answer. */
const repeatedKeys = ['gen_ai.input.messages', 'gen_ai.output.messages'];

/**
 * Presents the records of a span as a span that has them as events, and nothing else, so that the
 * same sources read them. Both share the kind, the warnings and the limits of the span. Returns
 * undefined when no record means anything.
 */
export function readRecords(index: Index, reading: Reading, records: readonly LogRecord[]): Reading | undefined {
  const events: SpanEvent[] = [];
  const { kind, warnings, left, leftOfBody } = reading;
  const span = { ...reading.span, attributes: new Map(), events };
  const logged: Reading = { ...startReading(index, span, leftOfBody), kind, warnings, left };
  for (const record of records) {
    const event = recordEvent(record, logged);
    if (event === undefined) continue;
    events.push(event);
    noteEvent(index, logged, event.name);
    // Messages of every role have one reader. The tables list only the usual roles.
    if (recordMeaning(event.name)?.is === 'message') noteEvent(index, logged, 'gen_ai.user.message');
  }
  dropRepeated(events, logged);
  return events.length === 0 ? undefined : logged;
}

/** Removes the lists of operation details that equal an earlier one. */
function dropRepeated(events: readonly SpanEvent[], logged: Reading): void {
  const details = events.filter(({ name }) => name === DETAILS_EVENT);
  if (details.length < 2) return;
  for (const key of repeatedKeys) {
    const seen = new Set<string>();
    for (const { attributes } of details) {
      const text = listText(attributes.get(key) ?? null, eventReading(logged, attributes));
      if (text === undefined) continue;
      if (seen.has(textKey(text))) attributes.delete(key);
      else seen.add(textKey(text));
    }
  }
}

/** Returns a list as JSON, whether it was sent as JSON text or as a structure; undefined without one. */
function listText(value: AnyValue, reading: Reading): string | undefined {
  if (value === null) return undefined;
  const json = parsed(value, reading);
  if (json !== undefined) return JSON.stringify(json);
  return typeof value === 'string' ? value : undefined;
}
