// An application with Langfuse's tracing whose span processor is given an exporter to Promptlane.
import { observeOpenAI } from '@langfuse/openai';
import { LangfuseSpanProcessor } from '@langfuse/otel';
import { propagateAttributes, startActiveObservation, startObservation } from '@langfuse/tracing';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { OpenAI } from 'openai';
import { ask, askRefused, askStreamed, askWithTool, embed, getWeather, respond } from './weather-calls.mjs';

const exporter = new OTLPTraceExporter({
  url: `${process.env.PROMPTLANE_URL}/api/v1/traces`,
  headers: { 'X-API-Key': process.env.PROMPTLANE_KEY },
});
const processor = new LangfuseSpanProcessor({
  exporter,
  environment: 'test',
  release: 'r1',
  mediaUploadEnabled: false,
});
const provider = new NodeTracerProvider({ spanProcessors: [processor] });
provider.register();

const openai = observeOpenAI(new OpenAI(), {
  generationName: 'chat',
  langfusePrompt: { name: 'weather-answer', version: 3, isFallback: false },
});
const tool = (city) =>
  startActiveObservation(
    'get_weather',
    async (observation) => {
      observation.update({ input: city });
      const output = await getWeather(city);
      observation.update({ output });
      return output;
    },
    { asType: 'tool' },
  );

/** A generation that is reported by hand, with what it cost. */
function reportGeneration() {
  const generation = startObservation(
    'manual-gen',
    {
      model: 'gpt-4o',
      input: [{ role: 'user', content: 'hi' }],
      output: { role: 'assistant', content: 'hello' },
      usageDetails: { input: 10, output: 5, total: 15, input_cached_tokens: 2 },
      costDetails: { input: 0.00001, output: 0.00002, total: 0.00003 },
      prompt: { name: 'greet', version: 7, isFallback: false },
    },
    { asType: 'generation' },
  );
  generation.end();
}

await propagateAttributes({ userId: 'user-42', sessionId: 'sess-7', tags: ['prod', 'beta'] }, () =>
  startActiveObservation(
    'handle',
    async (observation) => {
      observation.update({ input: { q: 'Weather in Paris?' } });
      await ask(openai);
      await askWithTool(openai, tool);
      await askStreamed(openai);
      await embed(openai);
      await respond(openai);
      await askRefused(openai);
      reportGeneration();
      observation.update({ output: 'ok' });
    },
    { asType: 'agent' },
  ),
);
await provider.shutdown();
