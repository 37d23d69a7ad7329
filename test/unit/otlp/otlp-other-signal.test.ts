import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeTraces } from '../../../src/otlp/decode.ts';
import { decodeLogs } from '../../../src/otlp/decode-logs.ts';
import { defaultOtlpLimits } from '../../../src/otlp/limits.ts';
import { scanBody } from '../../../src/otlp/scan.ts';
import type { Signal } from '../../../src/otlp/signal.ts';
import { logs, traces } from '../../support/otlp-arbitrary.ts';
import { encodeLogRecords, encodeLogs, encodeSpans, encodeTraces } from '../../support/otlp-encode.ts';

const ids = { traceId: '0102030405060708090a0b0c0d0e0f10', spanId: '1112131415161718' };
const span = { ...ids, name: 'chat gpt-5-mini', kind: 3, startUnixNano: 1n, endUnixNano: 2n };
const record = { ...ids, observedUnixNano: 1n, severityNumber: 9, body: 'hello', attributes: { a: 'b' } };
const malformed = { kind: 'malformed', code: 'malformed_otlp' };

/** Metric { name, description, unit, sum { data_points { start, time, as_int } } } */
const metric = Buffer.from([
  0x0a,
  1,
  0x6e,
  0x12,
  1,
  0x64,
  0x1a,
  1,
  0x31,
  0x3a,
  0x0b,
  0x0a,
  0x09,
  0x31,
  ...Array(8).fill(1),
]);
/** Metric { name, gauge { } } */
const gauge = Buffer.from([0x0a, 1, 0x6e, 0x2a, 0]);

describe.each(['protobuf', 'json'] as const)('L5: the body of another signal, %s', (encoding) => {
  it('spans sent as logs are refused with the path for traces', () => {
    expectRefused('logs', encoding, encodeSpans(encoding, [span]), 'send traces to /api/v1/traces');
  });

  it('log records sent as traces are refused with the path for logs', () => {
    expectRefused('traces', encoding, encodeLogRecords(encoding, [record]), 'send logs to /api/v1/logs');
  });

  it('any spans sent as logs are refused with the path for traces', () => {
    const some = traces.filter((groups) =>
      groups.some((group) => group.scopeSpans.some((inner) => inner.spans.length)),
    );
    fc.assert(
      fc.property(some, (input) =>
        expectRefused('logs', encoding, encodeTraces(encoding, input), 'send traces to /api/v1/traces'),
      ),
    );
  });

  it('any log records with a time sent as traces are refused with the path for logs', () => {
    const some = logs.filter((groups) =>
      groups.some(({ scopeLogs }) =>
        scopeLogs.some(({ logRecords }) => logRecords.some(({ timeUnixNano }) => timeUnixNano !== undefined)),
      ),
    );
    fc.assert(
      fc.property(some, (input) =>
        expectRefused('traces', encoding, encodeLogs(encoding, input), 'send logs to /api/v1/logs'),
      ),
    );
  });
});

describe('L5: the body of another signal, JSON', () => {
  it('the message names the root that was sent', () => {
    const sent = encodeSpans('json', [span]);
    expect(() => scanBody('logs', 'json', sent, defaultOtlpLimits)).toThrow(
      'Not an OTLP logs body: it has resourceSpans; send traces to /api/v1/traces',
    );
  });

  it.each(['traces', 'logs'] as const)('metrics sent as %s are refused with the path for metrics', (signal) => {
    const body = Buffer.from('{"resourceMetrics":[{}]}');
    expectRefused(signal, 'json', body, 'it has resourceMetrics; send metrics to /api/v1/metrics');
  });

  it('an empty root of another signal is refused, and a null one is absent', () => {
    expectRefused('logs', 'json', Buffer.from('{"resourceSpans":[]}'), 'send traces to');
    const absent = Buffer.from('{"resourceSpans":null}');
    expect(scanBody('logs', 'json', absent, defaultOtlpLimits)).toMatchObject({ accepted: 0 });
  });

  it('two other roots are both named', () => {
    const body = Buffer.from('{"resourceSpans":[],"resourceMetrics":[]}');
    const paths = 'send traces to /api/v1/traces, metrics to /api/v1/metrics';
    expectRefused('logs', 'json', body, `it has resourceSpans and resourceMetrics; ${paths}`);
  });

  it('a body with its own root is accepted, and the other root is warned of', () => {
    const body = Buffer.from('{"resourceSpans":[{}],"resourceLogs":[]}');
    expect(scanBody('logs', 'json', body, defaultOtlpLimits).warnings).toEqual([
      'the unknown top-level key "resourceSpans" was ignored; OTLP/JSON defines resourceLogs',
    ]);
    expect(scanBody('traces', 'json', body, defaultOtlpLimits).warnings).toHaveLength(1);
  });
});

describe('L5: the body of another signal, protobuf', () => {
  it('the message says whose fields they are', () => {
    const sent = encodeLogRecords('protobuf', [record]);
    expect(() => scanBody('traces', 'protobuf', sent, defaultOtlpLimits)).toThrow(
      'Not an OTLP traces body: its fields are those of log records; send logs to /api/v1/logs',
    );
  });

  it('spans that are also well-formed as log records are refused as well', () => {
    const sent = encodeSpans('protobuf', [{ ...ids, startUnixNano: 1n }]);
    expectRefused('logs', 'protobuf', sent, 'its fields are those of spans; send traces to /api/v1/traces');
  });

  it('log records that are malformed as spans are refused as well', () => {
    const sent = encodeLogRecords('protobuf', [{ traceId: 'ff'.repeat(16), timeUnixNano: 1n }]);
    expectRefused('traces', 'protobuf', sent, 'send logs to /api/v1/logs');
  });

  it('metrics sent as logs are refused with the path for metrics', () => {
    const why = 'its fields are those of metrics; send metrics to /api/v1/metrics';
    expectRefused('logs', 'protobuf', request(metric), why);
  });

  it('a sum sent as traces is refused with the path for metrics', () => {
    expectRefused('traces', 'protobuf', request(metric), 'send metrics to /api/v1/metrics');
  });

  it('fields that spans and metrics have alike are refused with both paths', () => {
    const paths = 'send traces to /api/v1/traces, metrics to /api/v1/metrics';
    expectRefused('logs', 'protobuf', request(gauge), `its fields are those of spans or metrics; ${paths}`);
  });

  it('one log record among spans makes the body one of logs', () => {
    const body = Buffer.concat([
      encodeSpans('protobuf', [{ ...ids, startUnixNano: 1n }]),
      encodeLogRecords('protobuf', [record]),
    ]);
    expect(scanBody('logs', 'protobuf', body, defaultOtlpLimits).accepted).toBe(2);
    expect(decodeLogs('protobuf', body, defaultOtlpLimits)).toHaveLength(2);
  });

  it('records with only fields that spans have too are log records', () => {
    const body = encodeLogRecords('protobuf', [{ severityText: 'INFO', body: 'hello' }]);
    expect(scanBody('logs', 'protobuf', body, defaultOtlpLimits).accepted).toBe(1);
  });

  it('records with unknown fields only are log records', () => {
    const body = request(Buffer.from([0xa0, 0x06, 0x01]));
    expect(scanBody('logs', 'protobuf', body, defaultOtlpLimits).accepted).toBe(1);
  });

  it('spans whose ids are all invalid are rejected as spans', () => {
    const body = encodeSpans('protobuf', [{ traceId: '', spanId: '', name: 'x', kind: 2 }]);
    expect(scanBody('traces', 'protobuf', body, defaultOtlpLimits)).toMatchObject({ accepted: 0, rejected: 1 });
  });

  it('malformed bytes are reported as such, whatever fields come before', () => {
    const body = request(Buffer.from([0x41, 1, 1, 1, 1, 1, 1, 1, 1, 0x09, 1]));
    expect(() => scanBody('logs', 'protobuf', body, defaultOtlpLimits)).toThrow('value of 8 bytes is incomplete');
  });
});

function expectRefused(signal: Signal, encoding: 'protobuf' | 'json', body: Uint8Array, message: string): void {
  const decode = signal === 'traces' ? decodeTraces : decodeLogs;
  const refused = expect.objectContaining({ ...malformed, message: expect.stringContaining(message) });
  expect(() => scanBody(signal, encoding, body, defaultOtlpLimits)).toThrow(refused);
  expect(() => decode(encoding, body, defaultOtlpLimits)).toThrow(expect.objectContaining(malformed));
}

/** Protobuf of one request with one item of these bytes. */
function request(item: Buffer): Buffer {
  return [0x12, 0x12, 0x0a].reduce((bytes, tag) => Buffer.concat([Buffer.from([tag, bytes.length]), bytes]), item);
}
