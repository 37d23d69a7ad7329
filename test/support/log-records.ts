import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LogRecord } from '../../src/otlp/log-record.ts';
import type { AnyValue, Attributes, Span } from '../../src/otlp/span.ts';
import {
  anyValueOf,
  attributesOf,
  type KeyValueJson,
  resourceOf,
  scopeOf,
  spansFromJson,
  type TracesJson,
  type ValueJson,
} from './span-from-json.ts';

/** What one span of a client with logs must become, computed from the same bytes independently. */
export interface ExpectedLoggedSpan {
  trace_id: string;
  span_id: string;
  kind: string;
  log_records: { genai: number; other: number };
  input?: unknown[];
  output?: unknown[];
  finish_reasons?: string[];
  texts?: string[];
  tool_calls_input?: string[];
  tool_calls_output?: string[];
}

/** The spans and records of one client that sends logs, as the independent decoder read them. */
export interface LogCapture {
  spans: Span[];
  /** In the order in which a span shows them. */
  records: LogRecord[];
}

interface LogsJson extends TracesJson {
  resourceLogs?: {
    resource?: { attributes?: KeyValueJson[] };
    scopeLogs?: { scope?: { name?: string; version?: string }; logRecords?: LogRecordJson[] }[];
  }[];
}

interface LogRecordJson {
  traceId?: string;
  spanId?: string;
  timeUnixNano?: string;
  observedTimeUnixNano?: string;
  eventName?: string;
  severityNumber?: number;
  severityText?: string;
  body?: ValueJson;
  attributes?: KeyValueJson[];
  flags?: number;
}

const folder = join(import.meta.dirname, '../fixtures/log-captures');

export const logManifest: Record<string, { logs: { genai: number; spans: ExpectedLoggedSpan[] } }> = JSON.parse(
  readFileSync(join(folder, 'manifest.json'), 'utf8'),
);

export function readLogCapture(client: string): LogCapture {
  const files = readdirSync(join(folder, client)).filter((file) => file.endsWith('.decoded.json'));
  const sent = files.sort().map((file): LogsJson => JSON.parse(readFileSync(join(folder, client, file), 'utf8')));
  return { spans: sent.flatMap(spansFromJson), records: inOrder(sent.flatMap(recordsFromJson)) };
}

/** Returns a record with only the given values. It belongs to the span of `buildSpan`. */
export function buildRecord(given: Partial<LogRecord> = {}): LogRecord {
  return {
    resource: resourceOf([]),
    scope: scopeOf(),
    traceId: '0123456789abcdef0123456789abcdef',
    spanId: '0123456789abcdef',
    timeUnixNano: 0n,
    observedUnixNano: 1_795_218_500_500_000_000n,
    eventName: '',
    severityNumber: 9,
    severityText: '',
    body: null,
    attributes: new Map(),
    droppedAttributesCount: 0,
    flags: 1,
    warnings: [],
    ...given,
  };
}

/** Returns a record with a body, both given as plain JavaScript. */
export function logged(eventName: string, body: unknown, attributes: Record<string, unknown> = {}): LogRecord {
  return buildRecord({ eventName, body: sentAs(body), attributes: attributesFrom(attributes) });
}

/** Converts plain JavaScript to the value that a client would send. Whole numbers become integers. */
export function sentAs(value: unknown): AnyValue {
  if (typeof value === 'number') return Number.isInteger(value) ? BigInt(value) : value;
  if (typeof value === 'string' || typeof value === 'boolean' || value instanceof Uint8Array) return value;
  if (Array.isArray(value)) return value.map(sentAs);
  return typeof value === 'object' && value !== null ? attributesFrom(value) : null;
}

function attributesFrom(values: object): Attributes {
  return new Map(Object.entries(values).map(([key, value]): [string, AnyValue] => [key, sentAs(value)]));
}

function recordsFromJson(json: LogsJson): LogRecord[] {
  return (json.resourceLogs ?? []).flatMap(({ resource, scopeLogs }) =>
    (scopeLogs ?? []).flatMap(({ scope, logRecords }) =>
      (logRecords ?? []).map((record) =>
        buildRecord({
          ...fromJson(record),
          resource: resourceOf(resource?.attributes),
          scope: scopeOf(scope?.name, scope?.version),
        }),
      ),
    ),
  );
}

function fromJson(record: LogRecordJson): Partial<LogRecord> {
  const attributes = attributesOf(record.attributes);
  return {
    traceId: record.traceId ?? '',
    spanId: record.spanId ?? '',
    timeUnixNano: BigInt(record.timeUnixNano ?? 0),
    observedUnixNano: BigInt(record.observedTimeUnixNano ?? 0),
    eventName: record.eventName || String(attributes.get('event.name') ?? ''),
    severityNumber: record.severityNumber ?? 0,
    severityText: record.severityText ?? '',
    body: anyValueOf(record.body),
    attributes,
    flags: record.flags ?? 0,
  };
}

/** Sorting is stable, so records that tie keep the order of their requests and positions. */
function inOrder(records: readonly LogRecord[]): LogRecord[] {
  const time = ({ timeUnixNano, observedUnixNano }: LogRecord) => timeUnixNano || observedUnixNano;
  return records.toSorted((a, b) => compare(time(a), time(b)) || compare(a.observedUnixNano, b.observedUnixNano));
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : Number(a > b);
}
