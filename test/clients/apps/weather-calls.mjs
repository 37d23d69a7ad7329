// What the applications ask of the model, by the OpenAI SDK; each application has it traced in its own way.
const model = 'gpt-4o-mini';
const messages = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'Weather in Paris?' },
];
const tools = [
  {
    type: 'function',
    function: {
      name: 'get_weather',
      description: 'Weather by city',
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    },
  },
];

export const getWeather = async ({ city }) => ({ city, tempC: 18 });

export const ask = (openai, options = {}) =>
  openai.chat.completions.create({ model, messages, max_tokens: 256, temperature: 0.2, ...options });

/** Two calls to the model, with a call of the tool between them. */
export async function askWithTool(openai, runTool) {
  const first = await openai.chat.completions.create({ model, messages, tools });
  const { message } = first.choices[0];
  const [call] = message.tool_calls;
  const result = await runTool(JSON.parse(call.function.arguments));
  const answered = { role: 'tool', tool_call_id: call.id, content: JSON.stringify(result) };
  return openai.chat.completions.create({ model, messages: [...messages, message, answered], tools });
}

export async function askStreamed(openai) {
  const stream = await openai.chat.completions.create({
    model,
    messages,
    stream: true,
    stream_options: { include_usage: true },
  });
  let text = '';
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
  return text;
}

export const embed = (openai) => openai.embeddings.create({ model: 'text-embedding-3-small', input: 'hello world' });

export const respond = (openai) =>
  openai.responses.create({ model, instructions: 'Be brief.', input: 'Weather in Paris?' });

const refusedWords = 'trigger bad request';

/** A call that the model refuses; resolves when it has. */
export const askRefused = (openai) =>
  refused(openai.chat.completions.create({ model, messages: [{ role: 'user', content: refusedWords }] }));

export const respondRefused = (openai) =>
  refused(openai.responses.create({ model, input: refusedWords, stream: true }));

async function refused(call) {
  const error = await call.then(
    () => undefined,
    (reason) => reason,
  );
  if (error?.status !== 400) throw new Error(`The model did not refuse: ${error}`);
}

export async function failingTool() {
  throw new Error('no forecast');
}
