import { describe, expect, it } from 'vitest';
import { decodeLogs } from '../../../src/otlp/decode-logs.ts';
import { defaultOtlpLimits, type OtlpLimits } from '../../../src/otlp/limits.ts';
import type { LogRecord } from '../../../src/otlp/log-record.ts';
import { scanLogs } from '../../../src/otlp/scan.ts';
import type { AnyValue } from '../../../src/otlp/span.ts';
import { encodeLogRecords, encodeLogs, type LogRecordInput } from '../../support/otlp-encode.ts';

const traceId = '0102030405060708090a0b0c0d0e0f10';
const spanId = '1112131415161718';
const ids = { traceId, spanId };
const malformed = expect.objectContaining({ kind: 'malformed', code: 'malformed_otlp' });

describe.each(['protobuf', 'json'] as const)('OTLP log records, %s', (encoding) => {
  it('every field is read, with the resource and scope that records share', () => {
    const record: LogRecordInput = {
      ...ids,
      timeUnixNano: 1_795_336_234_988_000_001n,
      observedUnixNano: 2n ** 64n - 1n,
      severityNumber: 9,
      severityText: 'INFO',
      body: new Map<string, AnyValue>([['content', ['a', 1n, 1.5, true, null, new Uint8Array([1, 2])]]]),
      attributes: { int: 2n ** 63n - 1n },
      droppedAttributesCount: 3,
      flags: 0x1_0001,
      eventName: 'gen_ai.choice',
    };
    const resource = { attributes: { 'service.name': 'shop' } };
    const scope = { name: 'openai', version: '1.2', attributes: { a: 'b' } };
    const body = encodeLogs(encoding, [
      { resource, schemaUrl: 'r', scopeLogs: [{ scope, schemaUrl: 's', logRecords: [record, {}] }] },
    ]);
    const [first, second] = decode(encoding, body);
    expect(first).toEqual({
      ...record,
      resource: { attributes: new Map([['service.name', 'shop']]), droppedAttributesCount: 0, schemaUrl: 'r' },
      scope: {
        name: 'openai',
        version: '1.2',
        attributes: new Map([['a', 'b']]),
        droppedAttributesCount: 0,
        schemaUrl: 's',
      },
      attributes: new Map([['int', 2n ** 63n - 1n]]),
      warnings: [],
    });
    expect(second?.resource).toBe(first?.resource);
    expect(second?.scope).toBe(first?.scope);
  });

  it('L4: a record without body, attributes and name is accepted with every field absent', () => {
    const body = encodeLogRecords(encoding, [{}]);
    expect(scan(encoding, body)).toMatchObject({ accepted: 1, rejected: 0, reasons: [], warnings: [] });
    expect(decode(encoding, body)).toMatchObject([
      {
        traceId: '',
        spanId: '',
        timeUnixNano: 0n,
        observedUnixNano: 0n,
        eventName: '',
        severityNumber: 0,
        severityText: '',
        body: null,
        attributes: new Map(),
        droppedAttributesCount: 0,
        flags: 0,
        warnings: [],
      },
    ]);
  });

  it.each([
    ['requests', []],
    ['resources', [{ scopeLogs: [] }]],
    ['scopes', [{ scopeLogs: [{ logRecords: [] }] }]],
  ])('L4: empty %s are accepted, with no records', (_, resourceLogs) => {
    const body = encodeLogs(encoding, resourceLogs);
    expect(scan(encoding, body)).toMatchObject({ accepted: 0, rejected: 0, reasons: [], warnings: [] });
    expect(decode(encoding, body)).toEqual([]);
  });

  it.each([
    ['empty', ''],
    ['too short', '0102'],
    ['too long', '01'.repeat(17)],
    ['all zero', '0'.repeat(32)],
  ])('L10: an id that is %s is absent, and the record is accepted', (_, id) => {
    const spanIdOf = id.slice(0, id.length === 32 ? 16 : undefined);
    const body = encodeLogRecords(encoding, [
      { traceId: id, spanId },
      { traceId, spanId: spanIdOf },
    ]);
    expect(scan(encoding, body)).toMatchObject({ accepted: 2, rejected: 0, reasons: [], warnings: [], withoutSpan: 2 });
    expect(decode(encoding, body)).toMatchObject([
      { traceId: '', spanId },
      { traceId, spanId: '' },
    ]);
  });

  it.each<[string, LogRecordInput, string]>([
    ['the field alone', { eventName: 'a' }, 'a'],
    ['the attribute alone', { attributes: { 'event.name': 'b' } }, 'b'],
    ['both', { eventName: 'a', attributes: { 'event.name': 'b' } }, 'a'],
    ['an empty field and the attribute', { eventName: '', attributes: { 'event.name': 'b' } }, 'b'],
    ['an attribute that is no text', { attributes: { 'event.name': 5n } }, ''],
    ['neither', {}, ''],
  ])('L12: with %s the event has that name, and attributes stay as sent', (_, input, eventName) => {
    const [record] = decode(encoding, encodeLogRecords(encoding, [input]));
    expect(record?.eventName).toBe(eventName);
    expect(record?.attributes).toEqual(new Map(Object.entries(input.attributes ?? {})));
  });

  it.each<[string, AnyValue]>([
    ['a text', 'hello'],
    ['a list', ['a', ['b']]],
    ['bytes', new Uint8Array([0, 255])],
    ['empty', null],
    ['an integer', -5n],
    ['an empty key-value list', new Map()],
  ])('L13: a body that is %s is kept', (_, body) => {
    expect(decode(encoding, encodeLogRecords(encoding, [{ body }]))[0]?.body).toEqual(body);
  });

  it('L13: an unknown severity number is kept', () => {
    const body = encodeLogRecords(encoding, [{ severityNumber: 99 }, { severityNumber: -1 }]);
    expect(decode(encoding, body)).toMatchObject([{ severityNumber: 99 }, { severityNumber: -1 }]);
  });

  it('L52: records past the limit are rejected one by one, and the first are taken', () => {
    const limits = { ...defaultOtlpLimits, recordsMax: 3, spansMax: 1 };
    const body = encodeLogRecords(
      encoding,
      Array.from({ length: 5 }, (_, index) => ({ severityNumber: index })),
    );
    expect(scan(encoding, body, limits)).toMatchObject({
      accepted: 3,
      rejected: 2,
      reasons: ['2 log records: a request may have at most 3 log records, not, for example, log record 4 and later'],
      warnings: [],
    });
    expect(decode(encoding, body, limits).map((record) => record.severityNumber)).toEqual([0, 1, 2]);
  });

  it('L52: texts over the limit are cut at a character, in body and attributes at any depth, with a warning', () => {
    const limits = { ...defaultOtlpLimits, attributeValueBytesMax: 4 };
    const body = encodeLogRecords(encoding, [
      { body: new Map<string, AnyValue>([['parts', ['abcdé', 'abcd']]]) },
      { body: '€€' },
      { attributes: { raw: Buffer.from([1, 2, 3, 4, 5]) } },
      { body: 'abcd' },
    ]);
    const records = decode(encoding, body, limits);
    expect(records.map((record) => record.body)).toEqual([new Map([['parts', ['abcd', 'abcd']]]), '€', null, 'abcd']);
    expect(records[2]?.attributes).toEqual(new Map([['raw', new Uint8Array([1, 2, 3, 4])]]));
    const cut = ['attribute_truncated'];
    expect(records.map((record) => record.warnings)).toEqual([cut, cut, cut, []]);
    expect(scan(encoding, body, limits)).toMatchObject({
      accepted: 4,
      warnings: ['attribute and body values longer than 4 bytes were truncated'],
    });
  });

  it('L52: names of events and of severities are cut, with a warning', () => {
    const limits = { ...defaultOtlpLimits, attributeValueBytesMax: 4 };
    const body = encodeLogRecords(encoding, [
      { eventName: 'event' },
      { severityText: 'ERROR' },
      { severityText: 'INFO' },
    ]);
    const records = decode(encoding, body, limits);
    expect(records.map(({ eventName, severityText }) => eventName + severityText)).toEqual(['even', 'ERRO', 'INFO']);
    expect(records.map(({ warnings }) => warnings)).toEqual([['text_truncated'], ['text_truncated'], []]);
    expect(scan(encoding, body, limits).warnings).toEqual([
      'names and other texts outside of attributes, longer than 4 bytes, were truncated',
    ]);
  });

  it('L52: attributes past their limit are dropped and counted, with a warning', () => {
    const limits = { ...defaultOtlpLimits, attributesMax: 2 };
    const body = encodeLogRecords(encoding, [
      { attributes: { a: 'x', b: 'x', 'event.name': 'dropped', d: 'x' }, droppedAttributesCount: 10 },
    ]);
    expect(decode(encoding, body, limits)).toMatchObject([
      { droppedAttributesCount: 12, eventName: '', warnings: ['attributes_dropped'] },
    ]);
    expect(scan(encoding, body, limits).warnings).toEqual(['attributes after the first 2 of a list were dropped']);
  });

  it('L52: what is cut in a resource is noted on each of its records', () => {
    const limits = { ...defaultOtlpLimits, attributesMax: 1 };
    const body = encodeLogs(encoding, [
      { resource: { attributes: { a: 'x', b: 'x' } }, scopeLogs: [{ logRecords: [{}, {}] }] },
      { scopeLogs: [{ logRecords: [{}] }] },
    ]);
    expect(decode(encoding, body, limits).map((record) => record.warnings)).toEqual([
      ['attributes_dropped'],
      ['attributes_dropped'],
      [],
    ]);
  });

  it.each<[number, 'accepted' | 'refused']>([
    [20, 'accepted'],
    [21, 'refused'],
  ])('P4: bodies and attributes nested %i deep are %s', (depth, outcome) => {
    const limits = { ...defaultOtlpLimits, depthMax: 20 };
    let deep: AnyValue = null;
    for (let level = 1; level < depth; level++) deep = level % 2 ? [deep] : new Map([['k', deep]]);
    for (const record of [{ body: deep }, { attributes: { deep } }]) {
      const body = encodeLogRecords(encoding, [record]);
      if (outcome === 'accepted')
        expect([scan(encoding, body, limits).accepted, decode(encoding, body, limits).length]).toEqual([1, 1]);
      else {
        expect(() => scan(encoding, body, limits)).toThrow('attribute values nested more than 20 levels deep');
        expect(() => decode(encoding, body, limits)).toThrow('attribute values nested more than 20 levels deep');
      }
    }
  });
});

describe('OTLP/JSON log records', () => {
  it.each<[string, object, string]>([
    ['attributes', { attributes: 5 }, 'attributes must be an array, not 5'],
    ['attribute', { attributes: ['a'] }, 'an attribute must be an object of key and value, not "a"'],
    ['time', { timeUnixNano: 'yesterday' }, 'timeUnixNano must be nanoseconds since 1970 in 64 bits, not "yesterday"'],
    [
      'observed time',
      { observedTimeUnixNano: -1 },
      'observedTimeUnixNano must be nanoseconds since 1970 in 64 bits, not -1',
    ],
    ['severity', { severityNumber: 'LOUD' }, 'severityNumber must be an integer of 32 bits, not "LOUD"'],
    ['severity text', { severityText: 5 }, 'severityText must be a string, not 5'],
    ['body', { body: { intValue: 'x' } }, 'intValue must be an integer of 64 bits, not "x"'],
    ['flags', { flags: -1 }, 'flags must be an integer from 0 to 4294967295, not -1'],
    ['event name', { eventName: {} }, 'eventName must be a string, not an object'],
    [
      'dropped count',
      { droppedAttributesCount: 'many' },
      'droppedAttributesCount must be an integer from 0 to 4294967295, not "many"',
    ],
    ['whole', Object('record'), 'a log record must be an object, not "record"'],
  ])('section 13: a record with an impossible %s is rejected alone', (_, record, reason) => {
    const body = request({ body: { stringValue: 'before' } }, record, { body: { stringValue: 'after' } });
    expect(scan('json', body)).toMatchObject({
      accepted: 2,
      rejected: 1,
      reasons: [`1 log record: ${reason}`],
      warnings: [],
    });
    expect(decode('json', body).map((record) => record.body)).toEqual(['before', 'after']);
  });

  it('J1: ids of any case are stored in lower case', () => {
    const upper = { traceId: 'ABCDEF0405060708090A0B0C0D0E0F10', spanId: '11121314151617FF' };
    expect(decode('json', request(upper))).toMatchObject([
      { traceId: upper.traceId.toLowerCase(), spanId: upper.spanId.toLowerCase() },
    ]);
  });

  it.each([null, 5, {}, 'AQIDBAUGBwgJCgsMDQ4PEA==', 'g'.repeat(32)])('L10: ids that are %j are absent', (id) => {
    const body = request({ traceId: id, spanId: id });
    expect(decode('json', body)).toMatchObject([{ traceId: '', spanId: '' }]);
    expect(scan('json', body)).toMatchObject({ accepted: 1, rejected: 0, reasons: [], warnings: [] });
  });

  it('J2, J3, J8: snake_case and unknown fields are ignored, and null is absent', () => {
    const [record] = decode(
      'json',
      request({ severity_text: 5, unknown: [{}], body: null, attributes: null, eventName: null, severityNumber: null }),
    );
    expect(record).toMatchObject({ severityText: '', body: null, attributes: new Map(), eventName: '' });
  });

  it.each<[string | number, number]>([
    ['SEVERITY_NUMBER_INFO', 9],
    ['SEVERITY_NUMBER_UNSPECIFIED', 0],
    ['info', 9],
    ['TRACE', 1],
    ['Warn4', 16],
    ['FATAL4', 24],
    ['17', 17],
    [17, 17],
  ])('severity %j is number %i', (severityNumber, expected) => {
    expect(decode('json', request({ severityNumber }))[0]?.severityNumber).toBe(expected);
  });

  it('attributes as a plain object, a bare body and ISO times are accepted, as for spans', () => {
    const [record] = decode(
      'json',
      request({ attributes: { 'event.name': 'e', n: 1 }, body: 'text', timeUnixNano: '2026-11-21T02:13:00Z' }),
    );
    expect(record).toMatchObject({ eventName: 'e', body: 'text', timeUnixNano: 1795227180000000000n });
    expect(record?.attributes.get('n')).toBe(1n);
  });

  it.each([
    ['a list', '[]'],
    ['resourceLogs that are an object', '{"resourceLogs":{}}'],
    ['scopeLogs that are a text', '{"resourceLogs":[{"scopeLogs":"x"}]}'],
    ['logRecords that are a number', '{"resourceLogs":[{"scopeLogs":[{"logRecords":5}]}]}'],
    ['a scope that is a number', '{"resourceLogs":[{"scopeLogs":[{"scope":5}]}]}'],
    ['no JSON', '{"resourceLogs":['],
    ['nothing', ''],
  ])('L6: an envelope that is or has %s is malformed as a whole', (_, text) => {
    expect(() => scan('json', Buffer.from(text))).toThrow(malformed);
    expect(() => decode('json', Buffer.from(text))).toThrow(malformed);
  });

  it('J11: the message of a malformed body names the value and the place', () => {
    expect(() => scan('json', Buffer.from('{"resourceLogs":[{},{"scopeLogs":[{"scope":5}]}]}'))).toThrow(
      'Not an OTLP JSON body: expected an object, not 5 (in resourceLogs[1].scopeLogs[0])',
    );
  });

  it('S4: an unknown top-level key is warned of', () => {
    expect(scan('json', Buffer.from('{"resource_logs":[]}')).warnings).toEqual([
      'the unknown top-level key "resource_logs" was ignored; OTLP/JSON defines resourceLogs',
    ]);
  });
});

describe('OTLP protobuf log records', () => {
  it('P1, P3: unknown fields, and known fields with another wire type, are skipped', () => {
    const record = [
      ...[0x22, 0x01, 0x61], // field 4, which is reserved
      ...[0x0a, 0x01, 0x61], // time_unix_nano as bytes
      ...[0x4d, 1, 2, 3, 4], // trace_id as fixed32
      ...[0x10, 0x09], // severity_number
      ...[0xc3, 0x38, 0x08, 0x01, 0xc4, 0x38], // an unknown group
    ];
    const body = requestBytes(record);
    expect(scan('protobuf', body)).toMatchObject({ accepted: 1, rejected: 0, reasons: [], warnings: [] });
    expect(decode('protobuf', body)).toMatchObject([{ traceId: '', timeUnixNano: 0n, severityNumber: 9 }]);
  });

  it('P2: a body sent in two pieces is merged, and of two members the last wins', () => {
    const array = (letter: number) => [0x2a, 0x07, 0x2a, 0x05, 0x0a, 0x03, 0x0a, 0x01, letter];
    expect(decode('protobuf', requestBytes([...array(0x61), ...array(0x62)]))[0]?.body).toEqual(['a', 'b']);
    expect(decode('protobuf', requestBytes([...array(0x61), 0x2a, 0x02, 0x18, 0x05]))[0]?.body).toBe(5n);
  });

  it('V7: invalid UTF-8 is replaced with a warning', () => {
    expect(decode('protobuf', requestBytes([0x1a, 0x01, 0xff]))).toMatchObject([
      { severityText: '\ufffd', warnings: ['invalid_utf8'] },
    ]);
  });

  it.each([
    ['a time cut short', [0x09, 1, 2, 3]],
    ['a body cut short', [0x2a, 0x02, 0x0a, 0x05]],
    ['an attribute cut short', [0x10, 0x09, 0x32, 0x02, 0x0a, 0x05]],
    ['a record that ends within a length', [0x4a]],
  ])('L6: %s is malformed as a whole, in the scan and the decoder', (_, record) => {
    const body = requestBytes(record);
    expect(() => scan('protobuf', body)).toThrow(malformed);
    expect(() => decode('protobuf', body)).toThrow(malformed);
  });

  it('L6: malformed bytes in a record past the limit are malformed as well', () => {
    const limits = { ...defaultOtlpLimits, recordsMax: 1 };
    const body = Buffer.concat([requestBytes([0x10, 0x09]), requestBytes([0x2a, 0x02, 0x0a, 0x05])]);
    expect(() => scan('protobuf', body, limits)).toThrow(malformed);
    expect(() => decode('protobuf', body, limits)).toThrow(malformed);
  });

  it('P3: the message of a malformed body names the field', () => {
    expect(() => scan('protobuf', requestBytes([0x10, 0x09, 0x2a, 0x02, 0x0a, 0x05]))).toThrow(
      '(in request.resourceLogs.scopeLogs.logRecords.value)',
    );
  });

  it('L52: more messages than memory should hold are refused', () => {
    const limits = { ...defaultOtlpLimits, messagesMax: 1000 };
    const body = requestBytes(Array(1000).fill([0x32, 0x00]).flat());
    expect(() => scan('protobuf', body, limits)).toThrow('more than 1000 messages');
    expect(() => decode('protobuf', body, limits)).toThrow('more than 1000 messages');
  });
});

function scan(encoding: 'protobuf' | 'json', body: Uint8Array, limits: OtlpLimits = defaultOtlpLimits) {
  return scanLogs(encoding, body, limits);
}

function decode(encoding: 'protobuf' | 'json', body: Uint8Array, limits: OtlpLimits = defaultOtlpLimits): LogRecord[] {
  return decodeLogs(encoding, body, limits);
}

/** JSON of one request with these records as they are. */
function request(...logRecords: unknown[]): Buffer {
  return Buffer.from(JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }));
}

/** Protobuf of one request with one record of these bytes. */
function requestBytes(record: readonly number[]): Buffer {
  const wrap = (tag: number, bytes: Buffer) =>
    Buffer.concat([Buffer.from([tag, (bytes.length & 0x7f) | 0x80, bytes.length >> 7]), bytes]);
  return wrap(0x0a, wrap(0x12, wrap(0x12, Buffer.from(record))));
}
