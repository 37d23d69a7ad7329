import { mapInSlices, type Rest } from '../../../lib/pace.ts';
import { attributesToJson } from '../../../otlp/any-value-json.ts';
import type { Attributes } from '../../../otlp/span.ts';
import type { ResolvedSpan } from './resolve-spans.ts';
import { spanAttributes } from './span-attributes.ts';

/** The instrumentation scope that spans of POST /executions can be told by. */
const scope = '{"name":"promptlane.executions"}';
const kindInternal = 1;
const statusCodes = { unset: 0, ok: 1, error: 2 } as const;

/** The spans as one OTLP/JSON request: a resource for each environment, which is what OpenTelemetry knows environments by. */
export async function encodeExecution(traceId: string, spans: readonly ResolvedSpan[], rest: Rest): Promise<Buffer> {
  // Bytes by and by: one text of it all costs twice the time in garbage.
  const encoded = await mapInSlices(spans, (span) => Buffer.from(spanToJson(traceId, span)), rest);
  const byEnvironment = new Map<string, Buffer[]>();
  for (const [index, { environment }] of spans.entries()) {
    const group = byEnvironment.get(environment) ?? [];
    group.push(encoded[index] ?? comma, comma);
    byEnvironment.set(environment, group);
  }
  const resources = Array.from(byEnvironment, ([environment, group]) => [
    Buffer.from(resourceStart(environment)),
    ...group.slice(0, -1),
    Buffer.from(']}]}'),
    comma,
  ]);
  return Buffer.concat([Buffer.from('{"resourceSpans":['), ...resources.flat().slice(0, -1), Buffer.from(']}')]);
}

const comma = Buffer.from(',');

function resourceStart(environment: string): string {
  const attributes: Attributes = new Map(environment === '' ? [] : [['deployment.environment.name', environment]]);
  return `{"resource":{"attributes":${attributesToJson(attributes)}},"scopeSpans":[{"scope":${scope},"spans":[`;
}

function spanToJson(traceId: string, span: ResolvedSpan): string {
  const { error, status } = span.fields;
  const message = typeof error === 'string' ? error : (error?.message ?? '');
  const failed = error !== undefined && error !== null;
  const head = JSON.stringify({
    traceId,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId,
    name: span.name,
    kind: kindInternal,
    startTimeUnixNano: String(span.startUnixNano),
    endTimeUnixNano: String(span.endUnixNano),
    status: { code: statusCodes[status ?? (failed ? 'error' : 'ok')], message },
  });
  return `${head.slice(0, -1)},"attributes":${attributesToJson(spanAttributes(span))}}`;
}
