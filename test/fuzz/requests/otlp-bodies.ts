import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateSync, gunzipSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import type { Signal } from '../../../src/otlp/signal.ts';
import { captureFolder, readCaptures } from '../../support/captures.ts';
import { logCaptureFolder } from '../../support/logs.ts';
import { logs, traces } from '../../support/otlp-arbitrary.ts';
import { encodeLogs, encodeTraces } from '../../support/otlp-encode.ts';
import { hostileNumber, hostileText, hostileValue, type Sizes } from '../values/hostile.ts';
import { mutated, mutatedBytes } from '../values/mutate.ts';
import { RawJson, toJsonText } from '../values/raw-json.ts';

export interface OtlpBody {
  bytes: Buffer;
  headers: Readonly<Record<string, string>>;
}

const protobuf = { 'Content-Type': 'application/x-protobuf' };
const json = { 'Content-Type': 'application/json' };

interface Recorded {
  /** Bodies of real clients, not compressed. */
  bodies: readonly OtlpBody[];
  /** The same requests as OTLP/JSON. */
  values: readonly unknown[];
}

/** The recorded requests of a signal. Those of log records belong to recorded spans. */
function recordedOf(signal: Signal): Recorded {
  const captures = [captureFolder, logCaptureFolder].flatMap((folder) =>
    readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .flatMap(({ name }) => readCaptures(name, folder).map((capture) => ({ ...capture, folder })))
      .filter(({ url }) => url.includes(signal)),
  );
  return {
    bodies: captures.map(({ file, body }) => ({
      bytes: file.endsWith('gzip') ? gunzipSync(body) : body,
      headers: /\.json(\.gzip)?$/.test(file) ? json : protobuf,
    })),
    values: captures.map(({ file, folder }) =>
      JSON.parse(readFileSync(join(folder, file.replace(/\.body\..*$/, '.decoded.json')), 'utf8')),
    ),
  };
}

const recorded: Readonly<Record<Signal, Recorded>> = { traces: recordedOf('traces'), logs: recordedOf('logs') };

/** Bodies that a correct exporter can send. */
const correct: Readonly<Record<Signal, fc.Arbitrary<OtlpBody>>> = {
  traces: encoded(traces, encodeTraces),
  logs: encoded(logs, encodeLogs),
};

function encoded<Request>(
  requests: fc.Arbitrary<Request>,
  encode: (as: 'json' | 'protobuf', request: Request) => Buffer,
) {
  return fc.tuple(requests, fc.boolean()).map(([request, asJson]) => ({
    bytes: encode(asJson ? 'json' : 'protobuf', request),
    headers: asJson ? json : protobuf,
  }));
}

/**
 * Recorded bodies with changed bytes, their JSON with changed values, bodies that a correct
 * exporter can send, and large bodies of spans.
 */
export function otlpBody(signal: Signal, sizes: Sizes): fc.Arbitrary<OtlpBody> {
  const asRecorded = fc.constantFrom(...recorded[signal].bodies);
  const bytesChanged = asRecorded.chain(({ bytes, headers }) =>
    mutatedBytes(bytes).map((changed) => ({ bytes: changed, headers })),
  );
  const valuesChanged = mutated(fc.constantFrom(...recorded[signal].values), sizes, hostileOtlp(sizes)).map(
    (value) => ({
      bytes: Buffer.from(toJsonText(value)),
      headers: json,
    }),
  );
  const bodies = fc.oneof(
    { arbitrary: bytesChanged, weight: 8 },
    { arbitrary: valuesChanged, weight: 10 },
    { arbitrary: correct[signal], weight: 5 },
    { arbitrary: asRecorded, weight: 1 },
    { arbitrary: signal === 'traces' ? large(sizes) : largeLogs(sizes), weight: 2 },
    { arbitrary: fc.constant({ bytes: Buffer.alloc(0), headers: protobuf }), weight: 1 },
  );
  const coding = fc.oneof(
    { arbitrary: fc.constant(asIs), weight: 10 },
    { arbitrary: fc.constantFrom(...codings), weight: 6 },
  );
  return fc.tuple(bodies, coding).map(([body, coded]) => coded(body));
}

const withCoding = (bytes: Buffer, { headers }: OtlpBody, coding: string) => ({
  bytes,
  headers: { ...headers, 'Content-Encoding': coding },
});

type Coding = (body: OtlpBody) => OtlpBody;

const asIs: Coding = (body) => body;
const codings: readonly Coding[] = [
  (body) => withCoding(gzipSync(body.bytes), body, 'gzip'),
  (body) => withCoding(gzipSync(body.bytes), body, 'gzip'),
  (body) => withCoding(deflateSync(body.bytes), body, 'deflate'),
  (body) => withCoding(gzipSync(body.bytes).subarray(0, -5), body, 'gzip'),
  (body) => withCoding(Buffer.concat([gzipSync(body.bytes), gzipSync(body.bytes)]), body, 'gzip'),
  (body) => withCoding(body.bytes, body, 'gzip'),
];

const kinds = [
  'stringValue',
  'intValue',
  'doubleValue',
  'boolValue',
  'bytesValue',
  'arrayValue',
  'kvlistValue',
  'nosuchValue',
];
const knownKeys = [
  ...[
    'gen_ai.operation.name',
    'gen_ai.request.model',
    'gen_ai.usage.input_tokens',
    'gen_ai.usage.output_tokens',
    'gen_ai.input.messages',
  ],
  ...[
    'gen_ai.output.messages',
    'llm.token_count.prompt',
    'input.value',
    'langfuse.observation.usage_details',
    'langfuse.observation.cost_details',
  ],
  ...[
    'gen_ai.prompt.0.content',
    'gen_ai.prompt.99999999.role',
    'session.id',
    'user.id',
    'tag.tags',
    'promptlane.prompt.id',
    'ai.prompt.messages',
    '__proto__',
  ],
];

function hostileOtlp(sizes: Sizes): fc.Arbitrary<unknown> {
  const value = fc.oneof(hostileText(sizes), hostileNumber, hostileValue(sizes));
  const anyValue = fc.tuple(fc.constantFrom(...kinds), value).map(([kind, each]) => ({ [kind]: each }));
  const asText = fc
    .tuple(fc.constantFrom(...knownKeys), value)
    .map(([key, each]) => ({ key, value: { stringValue: toJsonText(each) } }));
  return fc.oneof(
    { arbitrary: value, weight: 5 },
    { arbitrary: anyValue, weight: 2 },
    { arbitrary: asText, weight: 3 },
    { arbitrary: fc.array(asText, { maxLength: 40 }), weight: 1 },
  );
}

/** Bodies with many elements of one kind: spans, events, links, attributes, JSON in an attribute, or levels. */
function large({ elementsMax, levelsMax }: Sizes): fc.Arbitrary<OtlpBody> {
  const count = fc.double({ min: 1, max: Math.log10(elementsMax), noNaN: true }).map((size) => Math.floor(10 ** size));
  return fc
    .record({
      what: fc.constantFrom(...Object.keys(muchOf)),
      length: count,
      key: fc.constantFrom(...knownKeys),
      spans: fc.integer({ min: 1, max: 50 }),
    })
    .map(({ what, length, key, spans }) => {
      const contents = toJsonText(muchOf[what]?.(length, key, Math.min(length, levelsMax)) ?? {}).slice(1);
      const texts = Array.from({ length: what === 'spans' ? length : spans }, (_, at) => {
        const span = {
          traceId: 'ab'.repeat(16),
          spanId: spanIdOf(at),
          name: 'large',
          kind: 3,
          ...times,
        };
        return toJsonText(span).slice(0, -1) + (contents === '}' ? '}' : `,${contents}`);
      });
      const bytes = Buffer.from(`{"resourceSpans":[{"scopeSpans":[{"spans":[${texts.join(',')}]}]}]}`);
      return { bytes: gzipSync(bytes), headers: { ...json, 'Content-Encoding': 'gzip' } };
    });
}

/** Log records of the spans that {@link large} sends, of one span, or of their trace only. */
function largeLogs({ elementsMax }: Sizes): fc.Arbitrary<OtlpBody> {
  const count = fc.double({ min: 1, max: Math.log10(elementsMax), noNaN: true }).map((size) => Math.floor(10 ** size));
  return fc
    .record({
      count,
      eventName: fc.constantFrom('gen_ai.evaluation.result', 'gen_ai.user.message', 'gen_ai.choice', 'other'),
      spanIdOf: fc.constantFrom(
        spanIdOf,
        () => spanIdOf(0),
        () => '',
      ),
      values: fc.constantFrom(0, 1, 100),
      responseId: fc.constantFrom('r', ''),
    })
    .map(({ count: length, eventName, spanIdOf: ownSpanId, values, responseId }) => {
      const text = (stringValue: string) => ({ stringValue });
      const attributes = [
        ...[
          { key: 'gen_ai.evaluation.name', value: text('e') },
          { key: 'gen_ai.evaluation.score.value', value: text('1') },
        ],
        { key: 'gen_ai.response.id', value: text(responseId) },
      ];
      const logRecords = Array.from({ length: Math.min(length, 10_000) }, (_, at) => ({
        ...{
          traceId: 'ab'.repeat(16),
          spanId: ownSpanId(at),
          timeUnixNano: times.startTimeUnixNano,
          eventName,
          attributes,
        },
        body: { arrayValue: { values: Array.from({ length: values }, () => ({ intValue: String(at) })) } },
      }));
      const bytes = Buffer.from(JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }));
      return { bytes: gzipSync(bytes), headers: { ...json, 'Content-Encoding': 'gzip' } };
    });
}

const spanIdOf = (at: number) => (at + 1).toString(16).padStart(16, '0');

const times = { startTimeUnixNano: '1760000000000000000', endTimeUnixNano: '1760000001000000000' };
const call = { key: 'gen_ai.operation.name', value: { stringValue: 'chat' } };
const attribute = (key: string, value: unknown) => ({ attributes: [call, { key, value }] });

const muchOf: Readonly<Record<string, (length: number, key: string, levels: number) => object>> = {
  spans: () => ({}),
  events: (length) => ({
    events: Array.from({ length: Math.min(length, 2_000) }, (_, at) => ({
      name: `e${at}`,
      timeUnixNano: '1760000000000000000',
    })),
  }),
  links: (length) => ({
    links: Array.from({ length: Math.min(length, 2_000) }, () => ({
      traceId: 'cd'.repeat(16),
      spanId: 'ef'.repeat(8),
    })),
  }),
  attributes: (length) => ({
    attributes: Array.from({ length: Math.min(length, 2_000) }, (_, at) => ({
      key: `k${at}`,
      value: { intValue: String(at) },
    })),
  }),
  jsonValues: (length, key) => attribute(key, { stringValue: `[${Array(length).fill('{}').join(',')}]` }),
  jsonMessages: (length, key) =>
    attribute(key, {
      stringValue: `[${Array(Math.ceil(length / 4))
        .fill('{"role":"user","content":"x"}')
        .join(',')}]`,
    }),
  jsonLevels: (_length, key, levels) => attribute(key, { stringValue: '['.repeat(levels) + ']'.repeat(levels) }),
  indexed: (length) => ({
    attributes: Array.from({ length: Math.min(length, 2_000) }, (_, at) => ({
      key: `gen_ai.prompt.${at}.content`,
      value: { stringValue: 'x' },
    })),
  }),
  levels: (_length, key, levels) =>
    attribute(
      key,
      new RawJson(`${'{"arrayValue":{"values":['.repeat(levels)}{"boolValue":true}${']}}'.repeat(levels)}`),
    ),
  text: (length, key) => attribute(key, { stringValue: 'x'.repeat(length) }),
};
