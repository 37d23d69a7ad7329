import { type Attributes, ROOT_CONTEXT, SpanStatusCode, trace } from '@opentelemetry/api';
import { OTLPTraceExporter as HttpExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtoExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';

export const exporters = { proto: ProtoExporter, http: HttpExporter } as const;
export type ExporterName = keyof typeof exporters;

type BatchOptions = NonNullable<ConstructorParameters<typeof BatchSpanProcessor>[1]>;
type ExporterOptions = NonNullable<ConstructorParameters<typeof ProtoExporter>[0]>;

export interface LiveClient {
  provider: NodeTracerProvider;
  /** Sends the pending spans and stops. */
  end(): Promise<void>;
}

/** Creates a real SDK with a real exporter like an application. It changes no global state. */
export function liveClient(name: ExporterName, options: ExporterOptions, batch: BatchOptions = {}): LiveClient {
  const processor = new BatchSpanProcessor(new exporters[name](options), { scheduledDelayMillis: 50, ...batch });
  const provider = new NodeTracerProvider({ spanProcessors: [processor] });
  return { provider, end: () => provider.shutdown() };
}

const callAttributes = {
  'gen_ai.operation.name': 'chat',
  'gen_ai.provider.name': 'openai',
  'gen_ai.response.model': 'gpt-4o',
  'gen_ai.usage.input_tokens': 42,
  'gen_ai.usage.output_tokens': 17,
};

/** Sends one trace of a request, a model call and a tool, and returns its id. */
export function recordTrace(client: LiveClient, attributes: Attributes = {}): string {
  const tracer = client.provider.getTracer('shop', '1.2.3');
  const root = tracer.startSpan('POST /ask', { attributes: { 'session.id': 'live', ...attributes } });
  // The context is passed explicitly, because no context manager is registered.
  const belowRoot = trace.setSpan(ROOT_CONTEXT, root);
  const call = tracer.startSpan('chat gpt-4o', { attributes: callAttributes }, belowRoot);
  call.addEvent('first token', { index: 0 });
  call.end();
  const tool = tracer.startSpan('search', {}, belowRoot);
  tool.recordException(new Error('nothing found'));
  tool.setStatus({ code: SpanStatusCode.ERROR, message: 'nothing found' });
  tool.end();
  root.end();
  return root.spanContext().traceId;
}

/** Sends one trace of a root and its child spans, `count` in total, and returns its id. The root ends first. */
export function recordMany(client: LiveClient, count: number): string {
  const tracer = client.provider.getTracer('shop', '1.2.3');
  const root = tracer.startSpan('import');
  const belowRoot = trace.setSpan(ROOT_CONTEXT, root);
  root.end();
  for (let index = 1; index < count; index++) tracer.startSpan('row', {}, belowRoot).end();
  return root.spanContext().traceId;
}
