import type { SpanInput } from '../../test/support/otlp-encode.ts';

type Attributes = NonNullable<Extract<SpanInput['attributes'], Readonly<Record<string, unknown>>>>;
export type Random = () => number;

/**
 * Words of the texts. Their number makes a text compress like prose, to about a third. `text` uses
 * the first words more often.
 */
const wordCount = 4_000;
const syllables =
  'an be co da er fi go hu in ja ke li mo na or pe qui ra so ti un ve wa xi yo zu tion ment ing est'.split(' ');
const words = createWords(seededRandom(7));
const models = ['gpt-4.1-mini', 'gpt-4.1', 'claude-sonnet-4-5', 'gemini-2.5-flash'];

/** Mulberry32 (Tommy Ettinger, public domain): returns numbers from 0 to 1. A seed repeats them. */
export function seededRandom(seed: number): Random {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/**
 * Returns the attributes of the n-th span of a trace: an agent first, then in turn an LLM call, a
 * tool call and an HTTP call.
 */
export function spanContent(random: Random, index: number): { name: string; attributes: Attributes } {
  if (index === 0) return { name: 'invoke_agent support', attributes: { ...common(random), ...agent(random) } };
  const make = [http, llm, tool][index % 3] ?? http;
  const { name, attributes } = make(random);
  return { name, attributes: { ...common(random), ...attributes } };
}

function common(random: Random): Attributes {
  return {
    'session.id': `ses_${token(random, 20)}`,
    'user.id': `user_${Math.floor(random() * 5_000)}`,
    'enduser.plan': pick(random, ['free', 'pro', 'team']),
    'thread.id': BigInt(Math.floor(random() * 64)),
    'thread.name': `worker-${Math.floor(random() * 8)}`,
    'code.function.name': `app.pipeline.${pick(random, words)}_${pick(random, words)}`,
    'code.file.path': `/srv/app/pipeline/${pick(random, words)}/${pick(random, words)}.py`,
    'code.line.number': BigInt(Math.floor(random() * 900)),
    'app.request.id': token(random, 32),
    'app.feature.flags': text(random, 60),
    'app.retry': random() < 0.1,
    'app.queue.wait': random() * 40,
  };
}

function agent(random: Random): Attributes {
  return {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': 'support',
    'gen_ai.agent.id': `agt_${token(random, 16)}`,
    'gen_ai.conversation.id': `conv_${token(random, 16)}`,
    'input.value': text(random, 400),
    'output.value': text(random, 500),
    'app.steps': 9n,
    'app.outcome': pick(random, ['answered', 'escalated']),
  };
}

function llm(random: Random): { name: string; attributes: Attributes } {
  const model = pick(random, models);
  return {
    name: `chat ${model}`,
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': model.startsWith('gpt') ? 'openai' : 'other',
      'gen_ai.request.model': model,
      'gen_ai.response.model': `${model}-2025-09-01`,
      'gen_ai.response.id': `chatcmpl-${token(random, 29)}`,
      'gen_ai.response.finish_reasons': ['stop'],
      'gen_ai.request.temperature': 0.2,
      'gen_ai.request.max_tokens': 1_024n,
      'gen_ai.usage.input_tokens': BigInt(200 + Math.floor(random() * 2_000)),
      'gen_ai.usage.output_tokens': BigInt(20 + Math.floor(random() * 400)),
      'gen_ai.input.messages': JSON.stringify([
        message('system', text(random, 350)),
        message('user', text(random, 400)),
      ]),
      'gen_ai.output.messages': JSON.stringify([{ ...message('assistant', text(random, 450)), finish_reason: 'stop' }]),
    },
  };
}

function tool(random: Random): { name: string; attributes: Attributes } {
  const name = pick(random, ['search_orders', 'lookup_customer', 'retrieve_passages']);
  return {
    name: `execute_tool ${name}`,
    attributes: {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': name,
      'gen_ai.tool.type': 'function',
      'gen_ai.tool.call.id': `call_${token(random, 24)}`,
      'gen_ai.tool.call.arguments': JSON.stringify({ query: text(random, 90), limit: 5 }),
      'gen_ai.tool.call.result': JSON.stringify({ rows: [text(random, 180), text(random, 180)] }),
    },
  };
}

function http(random: Random): { name: string; attributes: Attributes } {
  const path = `/v2/${pick(random, words)}/${token(random, 12)}`;
  return {
    name: 'POST',
    attributes: {
      'http.request.method': 'POST',
      'url.full': `https://orders.internal.example.com${path}?trace=${token(random, 16)}`,
      'server.address': 'orders.internal.example.com',
      'server.port': 443n,
      'http.response.status_code': random() < 0.02 ? 500n : 200n,
      'http.response.body.size': BigInt(Math.floor(random() * 20_000)),
      'network.protocol.version': '1.1',
      'user_agent.original': 'python-httpx/0.28.1',
      'http.request.header.accept': 'application/json; charset=utf-8',
      'app.response.excerpt': text(random, 250),
    },
  };
}

function message(role: string, content: string) {
  return { role, parts: [{ type: 'text', content }] };
}

function pick<T>(random: Random, values: readonly [T, ...T[]] | readonly T[]): T {
  const value = values[Math.floor(random() * values.length)];
  if (value === undefined) throw new Error('There is no value to select');
  return value;
}

/** Returns words with about `characters` characters. Common words occur more often. */
function text(random: Random, length: number): string {
  let result = '';
  while (result.length < length) result += `${words[Math.floor(random() * random() * words.length)]} `;
  return result.trimEnd();
}

function createWords(random: Random): string[] {
  const make = () => Array.from({ length: 1 + Math.floor(random() * 3) }, () => pick(random, syllables)).join('');
  return Array.from({ length: wordCount }, make);
}

function token(random: Random, length: number): string {
  let result = '';
  while (result.length < length) result += Math.floor(random() * 2 ** 32).toString(36);
  return result.slice(0, length);
}
