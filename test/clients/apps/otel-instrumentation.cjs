// An application with OpenTelemetry's own instrumentation of the OpenAI SDK; CommonJS, where it patches as modules load.
const { trace } = require('@opentelemetry/api');
const { OTLPTraceExporter } = require('@opentelemetry/exporter-trace-otlp-proto');
const { registerInstrumentations } = require('@opentelemetry/instrumentation');
const { OpenAIInstrumentation } = require('@opentelemetry/instrumentation-openai');
const { BatchSpanProcessor, NodeTracerProvider } = require('@opentelemetry/sdk-trace-node');

const exporter = new OTLPTraceExporter({
  url: `${process.env.PROMPTLANE_URL}/api/v1/traces`,
  headers: { 'X-API-Key': process.env.PROMPTLANE_KEY },
});
const provider = new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] });
provider.register();
registerInstrumentations({ instrumentations: [new OpenAIInstrumentation()] });

const { OpenAI } = require('openai');
const openai = new OpenAI();
const tracer = trace.getTracer('weather-app');

/** Runs work in a span of the application's own. */
async function inSpan(name, attributes, work) {
  return tracer.startActiveSpan(name, { attributes }, async (span) => {
    try {
      return await work(span);
    } finally {
      span.end();
    }
  });
}

function tool(city) {
  const attributes = {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'get_weather',
    'gen_ai.tool.call.arguments': JSON.stringify(city),
  };
  return inSpan('execute_tool get_weather', attributes, async (span) => {
    const { getWeather } = await calls;
    const result = await getWeather(city);
    span.setAttribute('gen_ai.tool.call.result', JSON.stringify(result));
    return result;
  });
}

const calls = import('./weather-calls.mjs');
const requestAttributes = {
  'session.id': 'sess-7',
  'user.id': 'user-42',
  'gen_ai.prompt.name': 'weather-answer',
  'gen_ai.prompt.version': '3',
};

async function main() {
  const { ask, askRefused, askStreamed, askWithTool, embed, respond } = await calls;
  await inSpan('handle-request', requestAttributes, async () => {
    await ask(openai);
    await askWithTool(openai, tool);
    await askStreamed(openai);
    await embed(openai);
    await respond(openai);
    await askRefused(openai);
  });
  await provider.shutdown();
}

main();
