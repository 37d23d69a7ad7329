import { attributesToJson } from '../otlp/any-value-json.ts';
import type { Attributes } from '../otlp/span.ts';
import type { ResolvedSpan } from './resolve-spans.ts';
import { spanAttributes } from './span-attributes.ts';

/** The instrumentation scope that spans of POST /executions can be told by. */
const scope = '{"name":"promptlane.executions"}';
const kindInternal = 1;
const statusCodes = { unset: 0, ok: 1, error: 2 } as const;

/** The spans as one OTLP/JSON request: a resource for each environment, which is what OpenTelemetry knows environments by. */
export function encodeExecution(traceId: string, spans: readonly ResolvedSpan[]): Buffer {
  const byEnvironment = new Map<string, string[]>();
  for (const span of spans) {
    const group = byEnvironment.get(span.environment);
    const json = spanToJson(traceId, span);
    if (group === undefined) byEnvironment.set(span.environment, [json]);
    else group.push(json);
  }
  const resources = Array.from(byEnvironment, ([environment, group]) => resourceToJson(environment, group));
  return Buffer.from(`{"resourceSpans":[${resources.join(',')}]}`);
}

function resourceToJson(environment: string, spans: readonly string[]): string {
  const attributes: Attributes = new Map(environment === '' ? [] : [['deployment.environment.name', environment]]);
  return `{"resource":{"attributes":${attributesToJson(attributes)}},"scopeSpans":[{"scope":${scope},"spans":[${spans.join(',')}]}]}`;
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
