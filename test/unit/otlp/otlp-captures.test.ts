import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { decodeTraces } from '../../../src/otlp/decode.ts';
import { defaultOtlpLimits } from '../../../src/otlp/limits.ts';
import { scanTraces } from '../../../src/otlp/scan.ts';
import type { AnyValue, Attributes } from '../../../src/otlp/span.ts';

interface KeyValue {
  key: string;
  value?: Value;
}

interface Value {
  stringValue?: string;
  boolValue?: boolean;
  intValue?: string | number;
  doubleValue?: number;
  bytesValue?: string;
  arrayValue?: { values?: Value[] };
  kvlistValue?: { values?: KeyValue[] };
}

interface Attributed {
  attributes?: KeyValue[];
  droppedAttributesCount?: number;
}

interface SentSpan extends Attributed {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  traceState?: string;
  flags?: number;
  name?: string;
  kind?: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  events?: (Attributed & { timeUnixNano: string; name?: string })[];
  droppedEventsCount?: number;
  links?: (Attributed & { traceId: string; spanId: string; traceState?: string; flags?: number })[];
  droppedLinksCount?: number;
  status?: { code?: number; message?: string };
}

interface Request {
  resourceSpans: {
    resource?: Attributed;
    schemaUrl?: string;
    scopeSpans: { scope?: Attributed & { name?: string; version?: string }; schemaUrl?: string; spans: SentSpan[] }[];
  }[];
}

const folder = join(import.meta.dirname, '../../fixtures/captures');
/** The clients post metrics too, which are answered without a look inside. */
const bodies = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
  (name) => name.includes('.body.') && urlOf(name).endsWith('/traces'),
);

describe('OTLP captures of real clients', () => {
  it.each(bodies)('%s: every field is decoded as the independent decode has it', (name) => {
    const decoded: Request = JSON.parse(
      readFileSync(join(folder, name.replace(/\.body\..*/, '.decoded.json')), 'utf8'),
    );
    const spans = decodeTraces(encodingOf(name), bodyOf(name), defaultOtlpLimits);
    const expected = expectedSpans(decoded);
    expect(expected.length).toBeGreaterThan(0);
    expect(spans).toEqual(expected);
  });

  it.each(bodies)('%s: the scan accepts every span without a warning', (name) => {
    const scan = scanTraces(encodingOf(name), bodyOf(name), defaultOtlpLimits);
    const spans = decodeTraces(encodingOf(name), bodyOf(name), defaultOtlpLimits);
    expect(scan).toEqual({ spans: spans.length, rejected: 0, reasons: [], warnings: [] });
  });

  it('the manifest counts the spans of each client as the scan does', () => {
    const manifest: Record<string, { spans_received: number }> = JSON.parse(
      readFileSync(join(folder, 'manifest.json'), 'utf8'),
    );
    const counted: Record<string, number> = {};
    for (const name of bodies) {
      const client = name.split('/')[0] ?? '';
      counted[client] = (counted[client] ?? 0) + scanTraces(encodingOf(name), bodyOf(name), defaultOtlpLimits).spans;
    }
    expect(counted).toEqual(Object.fromEntries(Object.entries(manifest).map(([k, v]) => [k, v.spans_received])));
  });
});

function urlOf(name: string): string {
  const meta: { url: string } = JSON.parse(
    readFileSync(join(folder, name.replace(/\.body\..*/, '.meta.json')), 'utf8'),
  );
  return meta.url;
}

function encodingOf(name: string): 'protobuf' | 'json' {
  return name.includes('.json') ? 'json' : 'protobuf';
}

function bodyOf(name: string): Buffer {
  const bytes = readFileSync(join(folder, name));
  return name.endsWith('.gzip') ? gunzipSync(bytes) : bytes;
}

function expectedSpans(request: Request) {
  return request.resourceSpans.flatMap(({ resource, schemaUrl = '', scopeSpans }) =>
    scopeSpans.flatMap(({ scope, spans, schemaUrl: scopeSchemaUrl = '' }) =>
      spans.map((span) => ({
        resource: { ...attributed(resource), schemaUrl },
        scope: {
          name: scope?.name ?? '',
          version: scope?.version ?? '',
          ...attributed(scope),
          schemaUrl: scopeSchemaUrl,
        },
        ...expectedSpan(span),
      })),
    ),
  );
}

function expectedSpan(span: SentSpan) {
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId ?? '',
    traceState: span.traceState ?? '',
    flags: span.flags ?? 0,
    name: span.name ?? '',
    kind: span.kind ?? 0,
    startUnixNano: BigInt(span.startTimeUnixNano),
    endUnixNano: BigInt(span.endTimeUnixNano),
    ...attributed(span),
    events: (span.events ?? []).map((event) => ({
      timeUnixNano: BigInt(event.timeUnixNano),
      name: event.name ?? '',
      ...attributed(event),
    })),
    droppedEventsCount: span.droppedEventsCount ?? 0,
    links: (span.links ?? []).map((link) => ({
      traceId: link.traceId,
      spanId: link.spanId,
      traceState: link.traceState ?? '',
      flags: link.flags ?? 0,
      ...attributed(link),
    })),
    droppedLinksCount: span.droppedLinksCount ?? 0,
    statusCode: span.status?.code ?? 0,
    statusMessage: span.status?.message ?? '',
    warnings: [],
  };
}

function attributed(sent: Attributed | undefined) {
  return {
    attributes: attributes(sent?.attributes),
    droppedAttributesCount: sent?.droppedAttributesCount ?? 0,
  };
}

function attributes(sent: KeyValue[] = []): Attributes {
  return new Map(sent.map(({ key, value }) => [key, anyValue(value ?? {})]));
}

function anyValue(value: Value): AnyValue {
  if (value.stringValue !== undefined) return value.stringValue;
  if (value.boolValue !== undefined) return value.boolValue;
  if (value.intValue !== undefined) return BigInt(value.intValue);
  if (value.doubleValue !== undefined) return value.doubleValue;
  if (value.bytesValue !== undefined) return new Uint8Array(Buffer.from(value.bytesValue, 'base64'));
  if (value.arrayValue !== undefined) return (value.arrayValue.values ?? []).map(anyValue);
  return value.kvlistValue === undefined ? null : attributes(value.kvlistValue.values);
}
