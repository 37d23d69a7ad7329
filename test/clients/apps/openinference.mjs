// An application with Phoenix's set-up and OpenInference's instrumentation of the OpenAI SDK.
import { OpenAIInstrumentation } from '@arizeai/openinference-instrumentation-openai';
import {
  register,
  setPromptTemplate,
  setSession,
  setTags,
  setUser,
  traceAgent,
  traceChain,
  traceRetriever,
  traceTool,
} from '@arizeai/phoenix-otel';
import { context } from '@opentelemetry/api';
import { OpenAI } from 'openai';
import { ask, askStreamed, askWithTool, embed, failingTool, getWeather, respond } from './weather-calls.mjs';

const instrumentation = new OpenAIInstrumentation();
instrumentation.manuallyInstrument(OpenAI);
const provider = register({
  projectName: 'weather-app',
  url: `${process.env.PROMPTLANE_URL}/api`,
  headers: { 'X-API-Key': process.env.PROMPTLANE_KEY },
  instrumentations: [instrumentation],
});
const openai = new OpenAI();

const retrieve = traceRetriever(async () => ['Paris is mild.'], { name: 'retrieve' });
const tool = traceTool(getWeather, { name: 'get_weather' });
const forecast = traceTool(failingTool, { name: 'get_forecast' });
const agent = traceAgent(() => askWithTool(openai, tool), { name: 'weather_agent' });
const handle = traceChain(
  async (question) => {
    await retrieve(question);
    await ask(openai);
    await agent();
    await askStreamed(openai);
    await embed(openai);
    await respond(openai);
    // A tool, for of a refused chat this SDK never ends the span.
    await forecast().catch(() => undefined);
    return 'ok';
  },
  { name: 'handle' },
);

const template = { template: 'Weather in {{city}}?', variables: { city: 'Paris' }, version: '3' };
let active = setSession(context.active(), { sessionId: 'sess-7' });
active = setUser(active, { userId: 'user-42' });
active = setTags(active, ['prod', 'beta']);
await context.with(setPromptTemplate(active, template), () => handle('Weather in Paris?'));
await provider.shutdown();
