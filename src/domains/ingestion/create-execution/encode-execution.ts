import { TooLargeError } from '../../../lib/errors.ts';
import { mapInSlices, type Rest } from '../../../lib/pace.ts';
import { attributesToJson } from '../../../otlp/any-value-json.ts';
import { countTokens, tokensMax } from '../../../otlp/json-guard.ts';
import type { Attributes } from '../../../otlp/span.ts';
import type { ResolvedSpan } from './resolve-spans.ts';
import { spanAttributes } from './span-attributes.ts';

/** The instrumentation scope that marks spans of POST /executions. */
const scope = '{"name":"promptlane.executions"}';
const kindInternal = 1;
const statusCodes = { unset: 0, ok: 1, error: 2 } as const;

export interface EncodeOptions {
  rest: Rest;
  /** Limits of the request; by default there are none. */
  bytesMax?: number;
  messagesMax?: number;
}

/**
 * Encodes the spans as one OTLP/JSON request. Each environment becomes one resource, because
 * OpenTelemetry stores the environment in resource attributes.
 * @throws TooLargeError `body_too_large` before more than `bytesMax` of spans are held, or when they have more
 * values than a worker decodes
 */
export async function encodeExecution(
  traceId: string,
  spans: readonly ResolvedSpan[],
  { rest, bytesMax = Number.POSITIVE_INFINITY, messagesMax = Number.POSITIVE_INFINITY }: EncodeOptions,
): Promise<Buffer> {
  // Each span becomes bytes on its own: one large string costs twice the time in garbage
  // collection.
  let bytes = 0;
  const encode = (span: ResolvedSpan) => {
    const encoded = Buffer.from(spanToJson(traceId, span));
    bytes += encoded.length;
    requireAtMost(bytesMax, bytes, 'bytes');
    return encoded;
  };
  const encoded = await mapInSlices(spans, encode, rest);
  const parts = partsOf(spans, encoded);
  const body = Buffer.concat(parts);
  requireAtMost(bytesMax, body.length, 'bytes');
  const most = tokensMax({ messagesMax }, body.length);
  const counts = most === Number.POSITIVE_INFINITY ? [] : await mapInSlices(parts, countTokens, rest);
  requireAtMost(
    most,
    counts.reduce((sum, count) => sum + count, 0),
    'values',
  );
  return body;
}

/** Returns the request in parts, of which each span is one. */
function partsOf(spans: readonly ResolvedSpan[], encoded: readonly Buffer[]): Buffer[] {
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
  return [Buffer.from('{"resourceSpans":['), ...resources.flat().slice(0, -1), Buffer.from(']}')];
}

function requireAtMost(most: number, found: number, unit: string): void {
  if (found <= most) return;
  throw new TooLargeError(
    'body_too_large',
    `The execution has more than ${most} ${unit} as an OTLP request, which is the limit`,
  );
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
