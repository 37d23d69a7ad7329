import type { OtlpLimits } from './limits.ts';
import type { Signal } from './signal.ts';

/**
 * The messages of trace.proto and logs.proto (opentelemetry/proto, 1.11) that a walk enters, as a
 * table. It maps each message and tag (field number * 8 + wire type) to the field's content. Tags that are
 * not listed are skipped.
 */
export const message = {
  tracesRequest: 0,
  resourceSpans: 1,
  resource: 2,
  scopeSpans: 3,
  scope: 4,
  span: 5,
  event: 6,
  link: 7,
  status: 8,
  keyValue: 9,
  anyValue: 10,
  arrayValue: 11,
  keyValueList: 12,
  logsRequest: 13,
  resourceLogs: 14,
  scopeLogs: 15,
  logRecord: 16,
} as const;

/** Actions for fields that are not messages to enter. */
export const mark = {
  limited: 32,
  traceId: 33,
  spanId: 34,
  parentSpanId: 35,
  limitedBytes: 36,
  text: 37,
  strindex: 64,
} as const;

export const tagsPerMessage = 256;

const bytesTag = (field: number): number => field * 8 + 2;

interface MessageRow {
  name: string;
  fields: Readonly<Record<number, number>>;
}

const rows: Readonly<Record<number, MessageRow>> = {
  [message.tracesRequest]: { name: 'request', fields: { [bytesTag(1)]: message.resourceSpans } },
  [message.resourceSpans]: {
    name: 'resourceSpans',
    fields: { [bytesTag(1)]: message.resource, [bytesTag(2)]: message.scopeSpans, [bytesTag(3)]: mark.text },
  },
  [message.resource]: { name: 'resource', fields: { [bytesTag(1)]: message.keyValue } },
  [message.scopeSpans]: {
    name: 'scopeSpans',
    fields: { [bytesTag(1)]: message.scope, [bytesTag(2)]: message.span, [bytesTag(3)]: mark.text },
  },
  [message.scope]: {
    name: 'scope',
    fields: { [bytesTag(1)]: mark.text, [bytesTag(2)]: mark.text, [bytesTag(3)]: message.keyValue },
  },
  [message.span]: {
    name: 'spans',
    fields: {
      [bytesTag(1)]: mark.traceId,
      [bytesTag(2)]: mark.spanId,
      [bytesTag(3)]: mark.text,
      [bytesTag(4)]: mark.parentSpanId,
      [bytesTag(5)]: mark.text,
      [bytesTag(9)]: message.keyValue,
      [bytesTag(11)]: message.event,
      [bytesTag(13)]: message.link,
      [bytesTag(15)]: message.status,
    },
  },
  [message.event]: { name: 'events', fields: { [bytesTag(2)]: mark.text, [bytesTag(3)]: message.keyValue } },
  [message.link]: {
    name: 'links',
    fields: {
      [bytesTag(1)]: mark.traceId,
      [bytesTag(2)]: mark.spanId,
      [bytesTag(3)]: mark.text,
      [bytesTag(4)]: message.keyValue,
    },
  },
  [message.status]: { name: 'status', fields: { [bytesTag(2)]: mark.text } },
  [message.keyValue]: { name: 'attributes', fields: { [bytesTag(2)]: message.anyValue, [3 * 8]: mark.strindex } },
  [message.anyValue]: {
    name: 'value',
    fields: {
      [bytesTag(1)]: mark.limited,
      [bytesTag(5)]: message.arrayValue,
      [bytesTag(6)]: message.keyValueList,
      [bytesTag(7)]: mark.limitedBytes,
      [8 * 8]: mark.strindex,
    },
  },
  [message.arrayValue]: { name: 'arrayValue', fields: { [bytesTag(1)]: message.anyValue } },
  [message.keyValueList]: { name: 'kvlistValue', fields: { [bytesTag(1)]: message.keyValue } },
  [message.logsRequest]: { name: 'request', fields: { [bytesTag(1)]: message.resourceLogs } },
  [message.resourceLogs]: {
    name: 'resourceLogs',
    fields: { [bytesTag(1)]: message.resource, [bytesTag(2)]: message.scopeLogs, [bytesTag(3)]: mark.text },
  },
  [message.scopeLogs]: {
    name: 'scopeLogs',
    fields: { [bytesTag(1)]: message.scope, [bytesTag(2)]: message.logRecord, [bytesTag(3)]: mark.text },
  },
  [message.logRecord]: {
    name: 'logRecords',
    fields: {
      [bytesTag(3)]: mark.text,
      [bytesTag(5)]: message.anyValue,
      [bytesTag(6)]: message.keyValue,
      [bytesTag(9)]: mark.traceId,
      [bytesTag(10)]: mark.spanId,
      [bytesTag(12)]: mark.text,
    },
  },
};

export const messageNames: readonly string[] = Object.values(rows).map((row) => row.name);

/**
 * `actions[message * tagsPerMessage + tag]`: 0 means skip, below 32 is the message to enter, other
 * values are marks.
 */
export const actions: Uint8Array = buildActions();

function buildActions(): Uint8Array {
  const table = new Uint8Array(messageNames.length * tagsPerMessage);
  for (const [id, row] of Object.entries(rows))
    for (const [tag, action] of Object.entries(row.fields)) table[Number(id) * tagsPerMessage + Number(tag)] = action;
  return table;
}

/**
 * How one signal names what all signals have: a request of resources, each with scopes, each with
 * items. An item is one span or one log record.
 */
export interface SignalTerms {
  /** Names of one item and of several, and of their values with a limit, in messages to the sender. */
  item: string;
  items: string;
  limitedValues: string;
  /** Members of OTLP/JSON, from the outside in. */
  resourcesMember: string;
  scopesMember: string;
  itemsMember: string;
  /** Rows of `message`. */
  requestMessage: number;
  resourceMessage: number;
  scopeMessage: number;
  itemMessage: number;
  /** The limit for the items of a request. */
  itemsMax: keyof Pick<OtlpLimits, 'spansMax' | 'recordsMax'>;
}

export const signalTerms: Readonly<Record<Signal, SignalTerms>> = {
  traces: {
    item: 'span',
    items: 'spans',
    limitedValues: 'attribute values',
    resourcesMember: 'resourceSpans',
    scopesMember: 'scopeSpans',
    itemsMember: 'spans',
    requestMessage: message.tracesRequest,
    resourceMessage: message.resourceSpans,
    scopeMessage: message.scopeSpans,
    itemMessage: message.span,
    itemsMax: 'spansMax',
  },
  logs: {
    item: 'log record',
    items: 'log records',
    limitedValues: 'attribute and body values',
    resourcesMember: 'resourceLogs',
    scopesMember: 'scopeLogs',
    itemsMember: 'logRecords',
    requestMessage: message.logsRequest,
    resourceMessage: message.resourceLogs,
    scopeMessage: message.scopeLogs,
    itemMessage: message.logRecord,
    itemsMax: 'recordsMax',
  },
};
