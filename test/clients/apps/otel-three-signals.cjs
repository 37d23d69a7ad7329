// An application whose SDK is configured by OTEL_* variables alone, with three signals, and OpenTelemetry's own
// instrumentation of the OpenAI SDK. The SDK is that of the project.
const { trace } = require('@opentelemetry/api');
const { OpenAIInstrumentation } = require('@opentelemetry/instrumentation-openai');
const { NodeSDK } = require('@opentelemetry/sdk-node');

const sdk = new NodeSDK({ instrumentations: [new OpenAIInstrumentation()] });
sdk.start();

const { OpenAI } = require('openai');
const openai = new OpenAI();

async function main() {
  const { ask, askStreamed } = await import('./weather-calls.mjs');
  await trace.getTracer('weather-app').startActiveSpan('handle-request', async (span) => {
    await ask(openai);
    await askStreamed(openai);
    span.end();
  });
  await sdk.shutdown();
}

main();
