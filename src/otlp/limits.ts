import type { Config } from '../config.ts';

/** Limits of one OTLP request. Sizes are in bytes. */
export interface OtlpLimits {
  bodyBytesMax: number;
  inflatedBytesMax: number;
  spansMax: number;
  /** Log records in one request. */
  recordsMax: number;
  /** Also of a text that is no attribute, such as the name of a span. */
  attributeValueBytesMax: number;
  attributesMax: number;
  eventsMax: number;
  linksMax: number;
  /** Nesting depth of AnyValue, for protobuf and JSON. */
  depthMax: number;
  /**
   * Messages (resources, spans, events, log records, key-values, values) in one request. Above it the body is
   * malformed. A two-byte message takes a hundred bytes once decoded, so the byte limits alone do
   * not limit memory.
   */
  messagesMax: number;
  /** Keys of attributes, and names in JSON, of 16,000 bytes and more (`longKeyMin`) in one request. Above it the body is malformed. */
  longKeysMax: number;
  /**
   * Bytes of resources and scopes in the rows of one request. Each row has its own copy, so a small
   * body can become very large rows.
   */
  repeatedBytesMax: number;
  /**
   * Messages of protobuf, and resources, scopes, spans and log records of JSON, that one step on an
   * event loop reads. Undefined in a thread.
   */
  stepElementsMax?: { protobuf: number; json: number };
}

export const defaultOtlpLimits: OtlpLimits = {
  bodyBytesMax: 16 * 1024 * 1024,
  inflatedBytesMax: 64 * 1024 * 1024,
  spansMax: 10_000,
  recordsMax: 10_000,
  attributeValueBytesMax: 1024 * 1024,
  attributesMax: 1_024,
  eventsMax: 1_024,
  linksMax: 128,
  depthMax: 100,
  messagesMax: 2_000_000,
  longKeysMax: 4,
  repeatedBytesMax: 128 * 1024 * 1024,
};

/**
 * A body has more elements than one step on an event loop may read, {@link stepElementsMax}. A
 * thread reads it instead.
 */
export class LongStepError extends Error {
  override readonly name = 'LongStepError';
}

/** So many elements take at most about 30 ms, and hardly a small body of a real client has as many. */
export const stepElementsMax = { protobuf: 100_000, json: 20_000 } as const;

/** Returns the limits of one request, with the two sizes that an operator may configure. */
export function otlpLimits(config: Pick<Config, 'otlpBodyBytesMax' | 'otlpInflatedBytesMax'>): OtlpLimits {
  return {
    ...defaultOtlpLimits,
    bodyBytesMax: config.otlpBodyBytesMax,
    inflatedBytesMax: config.otlpInflatedBytesMax,
  };
}
