// An application that is instrumented by OTEL_* variables alone; run as a process of its own.
import { trace } from '@opentelemetry/api';
import { NodeSDK } from '@opentelemetry/sdk-node';

const sdk = new NodeSDK();
sdk.start();
trace.getTracer('app').startActiveSpan('env-only work', (span) => {
  span.setAttribute('answer', 42);
  console.log(span.spanContext().traceId);
  span.end();
});
await sdk.shutdown();
