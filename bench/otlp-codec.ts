import { randomBytes } from 'node:crypto';
import { attributesFromJson, attributesToJson } from '../src/otlp/any-value-json.ts';
import { decodeTraces } from '../src/otlp/decode.ts';
import { defaultOtlpLimits } from '../src/otlp/limits.ts';
import { scanTraces } from '../src/otlp/scan.ts';
import { encodeTraces, type SpanInput } from '../test/support/otlp-encode.ts';

/** Prints the microseconds per span of the OTLP codec, best of several rounds: `npx tsx bench/otlp-codec.ts`. */
const spanCount = 100;
const rounds = 8;
const roundMs = 150;

const resource = { attributes: { 'service.name': 'bench', 'host.name': 'host-1' } };
const spans = Array.from({ length: spanCount }, (_, index) => llmSpan(index));

for (const encoding of ['protobuf', 'json'] as const) {
  const body = encodeTraces(encoding, [{ resource, scopeSpans: [{ scope: { name: 'bench' }, spans }] }]);
  const text = body.toString();
  console.log(`${encoding}, ${spanCount} spans of ${Math.round(body.length / spanCount)} bytes`);
  report('scan', () => scanTraces(encoding, body, defaultOtlpLimits));
  report('decode', () => decodeTraces(encoding, body, defaultOtlpLimits));
  if (encoding === 'json') report('JSON.parse alone', () => JSON.parse(text));
}

const attributes = decodeTraces(
  'protobuf',
  encodeTraces('protobuf', [{ scopeSpans: [{ spans }] }]),
  defaultOtlpLimits,
).map((span) => span.attributes);
const stored = attributes.map(attributesToJson);
console.log('attributes, 20 per span');
report('to JSON', () => attributes.map(attributesToJson));
report('from JSON', () => stored.map(attributesFromJson));

function report(name: string, run: () => unknown): void {
  let bestUs = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round++) {
    const started = performance.now();
    let runs = 0;
    for (; performance.now() - started < roundMs; runs++) run();
    bestUs = Math.min(bestUs, ((performance.now() - started) * 1000) / runs / spanCount);
  }
  console.log(`  ${name.padEnd(18)} ${bestUs.toFixed(2)} us/span`);
}

function llmSpan(index: number): SpanInput {
  const question = 'What is the weather like in Amsterdam today, and should I bring an umbrella? '.repeat(4);
  const answer = 'It will rain in the afternoon; do bring one. '.repeat(6);
  return {
    traceId: `00112233445566778899aabbccdd${String(Math.floor(index / 10)).padStart(4, '0')}`,
    spanId: randomBytes(8).toString('hex'),
    parentSpanId: randomBytes(8).toString('hex'),
    name: 'chat gpt-4o',
    kind: 3,
    flags: 257,
    startUnixNano: 1795218501406000000n + BigInt(index),
    endUnixNano: 1795218501418530702n,
    statusCode: 1,
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'gpt-4o',
      'gen_ai.response.model': 'gpt-4o-2024-08-06',
      'gen_ai.response.id': `chatcmpl-${randomBytes(12).toString('hex')}`,
      'gen_ai.request.temperature': 0.7,
      'gen_ai.request.max_tokens': 1024n,
      'gen_ai.usage.input_tokens': 400n + BigInt(index),
      'gen_ai.usage.output_tokens': 120n + BigInt(index),
      'gen_ai.usage.cache_read.input_tokens': 128n,
      'gen_ai.prompt.name': 'weather-answer',
      'gen_ai.prompt.version': '3',
      'session.id': `session-${index % 7}`,
      'user.id': `user-${index % 20}`,
      'gen_ai.conversation.id': randomBytes(8).toString('hex'),
      'server.address': 'api.openai.com',
      'server.port': 443n,
      'gen_ai.response.finish_reasons': ['stop'],
      'gen_ai.input.messages': JSON.stringify([{ role: 'user', parts: [{ type: 'text', content: question }] }]),
      'gen_ai.output.messages': JSON.stringify([{ role: 'assistant', parts: [{ type: 'text', content: answer }] }]),
    },
  };
}
