import { createHash } from 'node:crypto';
import { attributesToJson } from '../../otlp/any-value-json.ts';
import type { LogRecord } from '../../otlp/log-record.ts';

/**
 * Gives each record of one request its id: 32 hex digits of a hash over its content and an ordinal
 * among equal records of the request. A record that is sent again has the same id, in either
 * encoding, and equal records of one request have different ids. The resource, the flags and the
 * time of receipt are not part of it.
 */
export class RecordIds {
  readonly #seen = new Map<string, number>();

  /** Returns the id of the next record of the request. `body` is the OTLP/JSON of its body. */
  next(record: LogRecord, body: string): string {
    const content = digestOf([...contentOf(record, body)].join('\u0000'));
    const ordinal = this.#seen.get(content) ?? 0;
    this.#seen.set(content, ordinal + 1);
    return ordinal === 0 ? content : digestOf(`${content} ${ordinal}`);
  }
}

function* contentOf(record: LogRecord, body: string): Generator<string> {
  yield record.traceId;
  yield record.spanId;
  yield String(record.timeUnixNano);
  yield String(record.observedUnixNano);
  yield record.eventName;
  yield String(record.severityNumber);
  yield record.severityText;
  yield JSON.stringify(record.scope.name);
  yield JSON.stringify(record.scope.version);
  yield attributesToJson(new Map([...record.attributes].sort(([a], [b]) => (a < b ? -1 : 1))));
  yield body;
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}
