// An application that only OTEL_* variables instrument. It runs in a separate process.
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
