import { randomBytes } from 'node:crypto';

/** A body that needs as much work as its size allows. */
export interface WorstBody {
  encoding: 'protobuf' | 'json';
  bytes: Buffer;
  spans: number;
  /** The only trace of the body. */
  traceId: string;
}

/** Creates the body when it is needed. All bodies together would need half a gibibyte. */
export type WorstBodyMaker = [name: string, make: () => WorstBody];

const mebibyte = 1024 * 1024;
const arrayFields = { values: 1 };
const valueFields = { string: 1, array: 5 };

/**
 * Returns makers of bodies of at most about `bytesMax`. Each body is the worst case for one step
 * between bytes and rows.
 */
export function worstBodies(bytesMax: number): WorstBodyMaker[] {
  const attributeBytes = Math.min(mebibyte, bytesMax);
  const attributes = Math.max(1, Math.floor(bytesMax / attributeBytes) - 4);
  const eventSpans = Math.max(1, Math.min(500, Math.floor(bytesMax / (1_024 * 7 + 40))));
  const smallSpans = Math.min(10_000, Math.floor(bytesMax / 40));
  return [
    [
      'model calls with messages of as many objects as fit',
      () =>
        body(times(attributes, () => [chat, attribute('gen_ai.input.messages', text(objects(attributeBytes - 200)))])),
    ],
    [
      'spans with as many events as they may have',
      () => body(times(eventSpans, () => times(1_024, () => field(11, field(2, 'e'))))),
    ],
    [
      'one span with many attributes of JSON',
      () =>
        body([
          [
            chat,
            ...jsonKeys
              .slice(0, attributes)
              .map((key, index) => attribute(key, text(objects(attributeBytes - 200 - index)))),
          ],
        ]),
    ],
    [
      'one span with a list of as many values as a body may have messages',
      () =>
        body([
          [
            attribute(
              'gen_ai.prompt',
              value(
                valueFields.array,
                Buffer.alloc(2 * Math.min(1_999_900, Math.floor(bytesMax / 2) - 100), field(arrayFields.values, '')),
              ),
            ),
          ],
        ]),
    ],
    [
      'model calls with JSON as deep as is read',
      () => body(times(attributes, () => [chat, attribute('gen_ai.input.messages', text(deep(attributeBytes - 200)))])),
    ],
    ['as many spans as fit', () => body(times(smallSpans, () => []))],
    [
      'characters that JSON writes as six',
      () =>
        body(
          times(attributes, () => [
            attribute(
              'a',
              value(
                valueFields.array,
                field(arrayFields.values, field(valueFields.string, '\u0001'.repeat(attributeBytes - 200))),
              ),
            ),
          ]),
        ),
    ],
    [
      'numbered messages with JSON within JSON',
      () =>
        body(
          times(attributes, () => [
            chat,
            attribute('gen_ai.prompt.0.role', text('user')),
            attribute('gen_ai.prompt.0.content', text(objects(attributeBytes - 300))),
          ]),
        ),
    ],
    [
      'spans that share a resource of as many bytes',
      () =>
        body(
          times(smallSpans, () => []),
          resourceOf(attributeBytes - 200),
        ),
    ],
    ['JSON of as many empty attributes as fit', () => jsonBody(bytesMax)],
  ];
}

const jsonKeys = [
  ...['gen_ai.input.messages', 'gen_ai.output.messages', 'gen_ai.system_instructions', 'langfuse.observation.input'],
  ...['langfuse.observation.output', 'gen_ai.prompt', 'gen_ai.completion', 'input.value', 'output.value', 'ai.prompt'],
  ...['ai.prompt.messages', 'ai.values', 'ai.value', 'mlflow.spanInputs', 'mlflow.spanOutputs', 'lmnr.span.input'],
  ...['lmnr.span.output', 'pydantic_ai.all_messages', 'all_messages_events', 'genkit:input', 'genkit:output', 'events'],
  ...['ai.response.toolCalls', 'ai.response.object', 'ai.embeddings', 'gcp.vertex.agent.llm_request', 'final_result'],
  ...['gcp.vertex.agent.llm_response', 'langfuse.trace.tags', 'tag.tags', 'langfuse.observation.usage_details'],
  ...['langfuse.observation.cost_details', 'mlflow.llm.cost', 'mlflow.chat.tokenUsage', 'mlflow.linkedPrompts'],
  ...['llm.invocation_parameters', 'ai.response.providerMetadata', 'traceloop.entity.input', 'traceloop.entity.output'],
  ...[
    'gen_ai.usage.input_token_details',
    'gen_ai.usage.output_token_details',
    'ai.toolCall.args',
    'ai.toolCall.result',
  ],
];

const chat = attribute('gen_ai.operation.name', text('chat'));

/** The first field of ResourceSpans: a resource with one attribute. */
function resourceOf(length: number): Buffer {
  const keyValue = Buffer.concat([field(1, 'r'), field(2, text('r'.repeat(length)))]);
  return field(1, field(1, keyValue));
}

function body(spans: readonly (readonly Buffer[])[], resource: Buffer = Buffer.alloc(0)): WorstBody {
  const traceId = randomBytes(16);
  const encoded = spans.map((fields, index) => {
    const spanId = Buffer.alloc(8);
    spanId.writeUInt32BE(index + 1, 4);
    return field(2, Buffer.concat([field(1, traceId), field(2, spanId), ...fields]));
  });
  const bytes = field(1, Buffer.concat([resource, field(2, Buffer.concat(encoded))]));
  return { encoding: 'protobuf', bytes, spans: spans.length, traceId: traceId.toString('hex') };
}

function jsonBody(bytesMax: number): WorstBody {
  const traceId = randomBytes(16).toString('hex');
  const attributes = `[${'{},'.repeat(Math.min(1_024, Math.floor(bytesMax / 3) - 60))}{}]`;
  const span = (index: number) =>
    `{"traceId":"${traceId}","spanId":"${(index + 1).toString(16).padStart(16, '0')}","attributes":${attributes}}`;
  const spans = Math.max(1, Math.min(1_900, Math.floor(bytesMax / span(0).length) - 1));
  const bytes = Buffer.from(`{"resourceSpans":[{"scopeSpans":[{"spans":[${times(spans, span).join()}]}]}]}`);
  return { encoding: 'json', bytes, spans, traceId };
}

function objects(length: number): string {
  return `[${'{},'.repeat(Math.floor(length / 3) - 1)}{}]`;
}

function deep(length: number): string {
  const depth = 498;
  const one = `${'['.repeat(depth)}${']'.repeat(depth)}`;
  return `[${times(Math.max(1, Math.floor(length / (one.length + 1))), () => one).join()}]`;
}

function attribute(key: string, anyValue: Buffer): Buffer {
  return field(9, Buffer.concat([field(1, key), field(2, anyValue)]));
}

function text(content: string): Buffer {
  return field(valueFields.string, content);
}

function value(member: number, content: Buffer): Buffer {
  return field(member, content);
}

/** A length-delimited field of protobuf. */
function field(number: number, content: Buffer | string): Buffer {
  const bytes = Buffer.from(content);
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);
}

function varint(number: number): Buffer {
  const bytes: number[] = [];
  let left = number;
  for (; left > 0x7f; left = Math.floor(left / 128)) bytes.push((left % 128) | 0x80);
  return Buffer.from([...bytes, left]);
}

function times<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}
