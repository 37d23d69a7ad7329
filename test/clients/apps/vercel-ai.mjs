// An application with the AI SDK 6 and its experimental_telemetry.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { embed, generateObject, generateText, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';
import { getWeather } from './weather-calls.mjs';

const exporter = new OTLPTraceExporter({
  url: `${process.env.PROMPTLANE_URL}/api/v1/traces`,
  headers: { 'X-API-Key': process.env.PROMPTLANE_KEY },
});
const provider = new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] });
provider.register();

const stub = createOpenAICompatible({
  name: 'stub',
  baseURL: process.env.OPENAI_BASE_URL,
  apiKey: process.env.OPENAI_API_KEY,
  includeUsage: true,
  supportsStructuredOutputs: true,
});
const model = stub('gpt-4o-mini');
const telemetry = (functionId) => ({
  experimental_telemetry: {
    isEnabled: true,
    functionId,
    metadata: {
      userId: 'user-42',
      sessionId: 'sess-7',
      tags: ['prod', 'beta'],
      promptName: 'weather-answer',
      promptVersion: 3,
    },
  },
});
const prompt = 'Weather in Paris?';
const tools = { get_weather: tool({ inputSchema: z.object({ city: z.string() }), execute: getWeather }) };
const schema = z.object({ city: z.string(), tempC: z.number() });

async function failingCall() {
  const call = generateText({ model, prompt: 'trigger bad request', maxRetries: 0, ...telemetry('fail') });
  const error = await call.then(
    () => undefined,
    (reason) => reason,
  );
  if (error?.statusCode !== 400) throw new Error(`The model did not refuse: ${error}`);
}

await trace.getTracer('weather-app').startActiveSpan('handle-request', async (span) => {
  await generateText({ model, system: 'Be brief.', prompt, temperature: 0.2, ...telemetry('weather-plain') });
  await generateText({ model, prompt, tools, stopWhen: stepCountIs(3), ...telemetry('weather-tools') });
  await streamText({ model, prompt, ...telemetry('weather-stream') }).consumeStream();
  await generateObject({ model, prompt, schema, ...telemetry('weather-object') });
  await embed({ model: stub.embeddingModel('text-embedding-3-small'), value: 'hello world', ...telemetry('embed') });
  await failingCall();
  span.end();
});
await provider.shutdown();
