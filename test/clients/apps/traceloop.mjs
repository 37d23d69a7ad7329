// An application with OpenLLMetry's SDK (Traceloop) pointed at Promptlane.
import * as traceloop from '@traceloop/node-server-sdk';
import { OpenAI } from 'openai';
import { ask, askStreamed, askWithTool, getWeather, respond, respondRefused } from './weather-calls.mjs';

traceloop.initialize({
  appName: 'weather-app',
  baseUrl: `${process.env.PROMPTLANE_URL}/api`,
  headers: { 'X-API-Key': process.env.PROMPTLANE_KEY },
  instrumentModules: { openAI: OpenAI },
  traceloopSyncEnabled: false,
  silenceInitializationMessage: true,
});
const openai = new OpenAI();
const associationProperties = { user_id: 'user-42', session_id: 'sess-7' };
// As its prompt registry hands them to an application.
const extraAttributes = { 'traceloop.prompt.key': 'weather-answer', 'traceloop.prompt.version': 3 };

await traceloop.withAssociationProperties(associationProperties, () =>
  traceloop.withWorkflow({ name: 'weather_workflow', version: 2 }, async () => {
    await traceloop.withTask({ name: 'plain_chat' }, () => ask(openai, { extraAttributes }));
    await traceloop.withAgent({ name: 'weather_agent' }, () =>
      askWithTool(openai, (city) => traceloop.withTool({ name: 'get_weather' }, getWeather, city)),
    );
    await askStreamed(openai);
    await respond(openai);
    // Of a refused chat this SDK never ends the span.
    await respondRefused(openai);
    return 'ok';
  }),
);
await traceloop.forceFlush();
