import type { Config } from '../config.ts';

/** Limits of one OTLP request. Sizes are in bytes. */
export interface OtlpLimits {
  bodyBytesMax: number;
  inflatedBytesMax: number;
  spansMax: number;
  /** Log records in one request. */
  recordsMax: number;
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
};

/** Returns the limits of one request, with the two sizes that an operator may configure. */
export function otlpLimits(config: Pick<Config, 'otlpBodyBytesMax' | 'otlpInflatedBytesMax'>): OtlpLimits {
  return {
    ...defaultOtlpLimits,
    bodyBytesMax: config.otlpBodyBytesMax,
    inflatedBytesMax: config.otlpInflatedBytesMax,
  };
}
