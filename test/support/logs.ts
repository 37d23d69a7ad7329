import { join } from 'node:path';
import type { ExportAnswer } from './traces.ts';

export const logCaptureFolder = join(import.meta.dirname, '../fixtures/log-captures');

/** A log record as OTLP/JSON, with the members that tests need. */
export interface LogInput {
  traceId?: string;
  spanId?: string;
  timeUnixNano?: string;
  observedTimeUnixNano?: string;
  eventName?: string;
  severityNumber?: number;
  severityText?: string;
  body?: unknown;
  attributes?: readonly { key: string; value: unknown }[];
}

/** Returns the AnyValue of plain JSON. */
export function anyValue(value: unknown): unknown {
  if (value === null || value === undefined) return {};
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'number') return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  if (Array.isArray(value)) return { arrayValue: { values: value.map(anyValue) } };
  return { kvlistValue: { values: attributesOf(value as Record<string, unknown>) } };
}

/** Returns the key-values of a plain object. */
export function attributesOf(values: Readonly<Record<string, unknown>>): { key: string; value: unknown }[] {
  return Object.entries(values).map(([key, value]) => ({ key, value: anyValue(value) }));
}

/** Returns a message event of the GenAI conventions. */
export function messageRecord(role: string, content: unknown, record: LogInput = {}): LogInput {
  return { eventName: `gen_ai.${role}.message`, body: anyValue({ content }), ...record };
}

/** Returns a choice event with a text. */
export function choiceRecord(content: string, record: LogInput = {}): LogInput {
  const body = anyValue({ index: 0, finish_reason: 'stop', message: { role: 'assistant', content } });
  return { eventName: 'gen_ai.choice', body, ...record };
}

/** Returns the body of one request in JSON. */
export function logBody(records: readonly LogInput[]): string {
  const scope = { name: 'test', version: '1' };
  return JSON.stringify({ resourceLogs: [{ resource: {}, scopeLogs: [{ scope, logRecords: records }] }] });
}

/** Posts a body to the path of logs, or of another signal. */
export async function postSignal(
  api: { url: string },
  signal: 'logs' | 'metrics' | 'traces',
  key: string,
  body: Uint8Array<ArrayBuffer> | string,
  headers: Readonly<Record<string, string>> = { 'Content-Type': 'application/json' },
): Promise<ExportAnswer> {
  const response = await fetch(`${api.url}/api/v1/${signal}`, {
    method: 'POST',
    headers: { 'X-API-Key': key, ...headers },
    body,
  });
  return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) };
}

/** Sends records in one request. All of them must be accepted. */
export async function sendLogs(api: { url: string }, key: string, records: readonly LogInput[]): Promise<void> {
  const answer = await postSignal(api, 'logs', key, logBody(records));
  if (answer.status !== 200 || answer.bytes.toString() !== '{}') {
    throw new Error(`Logs were answered ${answer.status}: ${answer.bytes.toString()}`);
  }
}
