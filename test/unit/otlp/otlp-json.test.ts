import { describe, expect, it } from 'vitest';
import { decodeTraces } from '../../../src/otlp/decode.ts';
import { defaultOtlpLimits, type OtlpLimits } from '../../../src/otlp/limits.ts';
import { scanTraces } from '../../../src/otlp/scan.ts';
import type { Span } from '../../../src/otlp/span.ts';

const traceId = '0102030405060708090a0b0c0d0e0f10';
const spanId = '1112131415161718';
const ids = { traceId, spanId };
const malformed = expect.objectContaining({ kind: 'malformed', code: 'malformed_otlp' });

describe('OTLP/JSON: the standard', () => {
  it('J1: ids in upper case are stored in lower case, in links too', () => {
    const upper = { traceId: '0102030405060708090A0B0C0D0E0F10', spanId: '111213141516171F' };
    const [span] = decode({ ...upper, parentSpanId: '2122232425262728'.toUpperCase(), links: [upper] });
    expect(span).toMatchObject({ traceId, spanId: '111213141516171f', parentSpanId: '2122232425262728' });
    expect(span?.links).toMatchObject([{ traceId, spanId: '111213141516171f' }]);
  });

  it.each<[string, object, string]>([
    [
      'base64 trace id',
      { ...ids, traceId: 'AQIDBAUGBwgJCgsMDQ4PEA==' },
      'traceId must be 16 bytes (32 hex characters), not all zero, not "AQIDBAUGBwgJCgsMDQ4PEA=="',
    ],
    [
      'short trace id',
      { ...ids, traceId: 'abcd' },
      'traceId must be 16 bytes (32 hex characters), not all zero, not "abcd"',
    ],
    [
      'zero trace id',
      { ...ids, traceId: '0'.repeat(32) },
      `traceId must be 16 bytes (32 hex characters), not all zero, not "${'0'.repeat(32)}"`,
    ],
    [
      'trace id that is a number',
      { ...ids, traceId: 5 },
      'traceId must be 16 bytes (32 hex characters), not all zero, not 5',
    ],
    ['absent span id', { traceId }, 'spanId must be 8 bytes (16 hex characters), not all zero, not "absent"'],
    [
      'short parent id',
      { ...ids, parentSpanId: 'ab' },
      'parentSpanId must be empty, all zero or 8 bytes (16 hex characters), not "ab"',
    ],
    ['name that is a number', { ...ids, name: 5 }, 'name must be a string, not 5'],
    [
      'negative time',
      { ...ids, startTimeUnixNano: -1 },
      'startTimeUnixNano must be nanoseconds since 1970 in 64 bits, not -1',
    ],
    [
      'time of 2^64',
      { ...ids, endTimeUnixNano: '18446744073709551616' },
      'endTimeUnixNano must be nanoseconds since 1970 in 64 bits, not "18446744073709551616"',
    ],
    [
      'time that is none',
      { ...ids, startTimeUnixNano: 'yesterday' },
      'startTimeUnixNano must be nanoseconds since 1970 in 64 bits, not "yesterday"',
    ],
    ['kind of no known name', { ...ids, kind: 'SPAN_KIND_X' }, 'kind must be an integer of 32 bits, not "SPAN_KIND_X"'],
    ['flags of 33 bits', { ...ids, flags: 2 ** 32 }, 'flags must be an integer from 0 to 4294967295, not 4294967296'],
    ['status that is a string', { ...ids, status: 'ERROR' }, 'status must be an object, not "ERROR"'],
    ['events that are an object', { ...ids, events: {} }, 'events must be an array, not an object'],
    ['event that is a number', { ...ids, events: [1] }, 'an event must be an object, not 1'],
    [
      'attribute that is a string',
      { ...ids, attributes: ['a'] },
      'an attribute must be an object of key and value, not "a"',
    ],
    ['int of no number', attribute({ intValue: 'NaN' }), 'intValue must be an integer of 64 bits, not "NaN"'],
    [
      'int of 2^63',
      attribute({ intValue: '9223372036854775808' }),
      'intValue must be an integer of 64 bits, not "9223372036854775808"',
    ],
    ['int with a fraction', attribute({ intValue: 1.5 }), 'intValue must be an integer of 64 bits, not 1.5'],
    ['empty int', attribute({ intValue: '' }), 'intValue must be an integer of 64 bits, not ""'],
    ['bool of a word', attribute({ boolValue: 'true' }), 'boolValue must be true or false, not "true"'],
    [
      'double of a word',
      attribute({ doubleValue: 'nan' }),
      'doubleValue must be a number, "NaN", "Infinity" or "-Infinity", not "nan"',
    ],
    ['bytes not in base64', attribute({ bytesValue: 'a*b' }), 'bytesValue must be base64, not "a*b"'],
    [
      'array that is a string',
      attribute({ arrayValue: { values: 'a' } }),
      'arrayValue must be an object with an array of values, not an object',
    ],
    [
      'list that is a string',
      attribute({ kvlistValue: 'a' }),
      'kvlistValue must be an object with an array of values, not "a"',
    ],
    ['span that is a string', Object('span'), 'a span must be an object, not "span"'],
  ])('V1, J5: a %s rejects that span alone', (_, span, reason) => {
    const body = request(span, ids);
    expect(scan(body)).toMatchObject({ accepted: 1, rejected: 1, reasons: [`1 span: ${reason}`], warnings: [] });
    expect(decodeText(body)).toHaveLength(1);
  });

  it('J2, J3: snake_case and unknown fields are ignored at any depth', () => {
    const [span] = decode({
      ...ids,
      start_time_unix_nano: 'x',
      unknown: { deep: [1] },
      attributes: [{ key: 'k', x: 1, value: { string_value: 'no', y: {} } }],
    });
    expect(span).toMatchObject({ startUnixNano: 0n, attributes: new Map([['k', null]]) });
  });

  it('J4: unknown enum numbers are kept', () => {
    expect(decode({ ...ids, kind: 9, status: { code: 7 } })[0]).toMatchObject({ kind: 9, statusCode: 7 });
  });

  it('J5: 64-bit integers are taken as string and as number', () => {
    const attributes = [
      { key: 'text', value: { intValue: '9223372036854775807' } },
      { key: 'number', value: { intValue: -3 } },
      { key: 'exponent', value: { intValue: '1e3' } },
    ];
    const [span] = decode({
      ...ids,
      startTimeUnixNano: '18446744073709551615',
      endTimeUnixNano: 1795218499977000000,
      attributes,
    });
    expect(span).toMatchObject({ startUnixNano: 2n ** 64n - 1n, endUnixNano: 1795218499977000000n });
    expect(span?.attributes).toEqual(
      new Map([
        ['text', 2n ** 63n - 1n],
        ['number', -3n],
        ['exponent', 1000n],
      ]),
    );
  });

  it('J5: the largest integers as numbers, rounded up by the sender, are accepted', () => {
    const sent = request({ ...ids, endTimeUnixNano: 'MAX', attributes: [{ key: 'k', value: { intValue: 'INT' } }] });
    const [span] = decodeText(sent.replace('"MAX"', '18446744073709551615').replace('"INT"', '9223372036854775807'));
    expect(span).toMatchObject({ endUnixNano: 2n ** 64n - 1n, attributes: new Map([['k', 2n ** 63n - 1n]]) });
  });

  it('J6: doubles are numbers or words', () => {
    const values = [
      { doubleValue: 1 },
      { doubleValue: 'NaN' },
      { doubleValue: 'Infinity' },
      { doubleValue: '-Infinity' },
      { doubleValue: '-1.5e3' },
    ];
    expect(value({ arrayValue: { values } })).toEqual([
      1,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
      -1500,
    ]);
  });

  it.each(['-_-_', '+/+/', '+/+/AQ==', '-_-_AQ'])('J7: bytes %s are read in either alphabet, padded or not', (text) => {
    expect(value({ bytesValue: text })).toEqual(new Uint8Array(Buffer.from(text, 'base64url')));
  });

  it('J8: null is as if absent, for every field', () => {
    const names = [
      'parentSpanId',
      'traceState',
      'flags',
      'name',
      'kind',
      'startTimeUnixNano',
      'endTimeUnixNano',
      'attributes',
      'droppedAttributesCount',
      'events',
      'links',
      'status',
    ];
    expect(decode({ ...ids, ...Object.fromEntries(names.map((name) => [name, null])) })).toEqual(decode(ids));
    expect(value({ stringValue: 'x', intValue: null })).toBe('x');
    expect(decodeText('{"resourceSpans":null}')).toEqual([]);
    expect(decodeText('{"resourceSpans":[{"resource":null,"scopeSpans":[{"scope":null,"spans":null}]}]}')).toEqual([]);
  });

  it('J9, S2: absent arrays are empty and an empty request is one', () => {
    for (const body of [
      '{}',
      '{"resourceSpans":[]}',
      '{"resourceSpans":[{}]}',
      '{"resourceSpans":[{"scopeSpans":[{}]}]}',
    ])
      expect(scan(body)).toMatchObject({ accepted: 0, rejected: 0, reasons: [], warnings: [] });
  });

  it.each([{}, { code: 0 }, undefined, null])('J10: status %j is unset', (status) => {
    expect(decode({ ...ids, status })[0]).toMatchObject({ statusCode: 0, statusMessage: '' });
  });

  it('J11: of a repeated JSON key the last wins', () => {
    expect(decodeText(request(ids).replace('"spanId"', '"name":"a","name":"b","spanId"'))[0]?.name).toBe('b');
  });

  it.each<[string, string]>([
    ['trailing garbage', '{}x'],
    ['no bytes', ''],
    ['an array', '[]'],
    ['null', 'null'],
    ['a string', '"resourceSpans"'],
    ['resourceSpans that are an object', '{"resourceSpans":{}}'],
    ['a resource that is an array', '{"resourceSpans":[{"resource":[]}]}'],
    ['an element that is null', '{"resourceSpans":[null]}'],
    ['resource attributes that are a string', '{"resourceSpans":[{"resource":{"attributes":"x"}}]}'],
    [
      'a bad value in a resource',
      '{"resourceSpans":[{"resource":{"attributes":[{"key":"a","value":{"intValue":"x"}}]}}]}',
    ],
    ['scopeSpans that are a number', '{"resourceSpans":[{"scopeSpans":5}]}'],
    ['a scope name that is a number', '{"resourceSpans":[{"scopeSpans":[{"scope":{"name":5}}]}]}'],
    ['spans that are an object', '{"resourceSpans":[{"scopeSpans":[{"spans":{}}]}]}'],
    ['attributes that are a string', request({ ...ids, attributes: 'x' })],
  ])('J11: %s is malformed, in the scan and the decoder', (_, body) => {
    expect(() => scan(body)).toThrow(malformed);
    expect(() => decodeText(body)).toThrow(malformed);
  });

  it('J11: the message of a malformed body names the value and the place', () => {
    expect(() => scan('{"resourceSpans":[{},{"scopeSpans":[{"scope":5}]}]}')).toThrow(
      'Not an OTLP JSON body: expected an object, not 5 (in resourceSpans[1].scopeSpans[0])',
    );
  });

  it('J11: a byte order mark is stripped, bytes that are not UTF-8 and UTF-16 are malformed', () => {
    expect(decodeTraces('json', Buffer.from(`\ufeff${request(ids)}`), defaultOtlpLimits)).toHaveLength(1);
    expect(() => scanTraces('json', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]), defaultOtlpLimits)).toThrow(
      'not UTF-8',
    );
    expect(() => scanTraces('json', Buffer.from(request(ids), 'utf16le'), defaultOtlpLimits)).toThrow(malformed);
  });

  it.each([undefined, null, '', '0000000000000000'])('J12: parent id %j makes a root', (parentSpanId) => {
    expect(decode({ ...ids, parentSpanId })[0]?.parentSpanId).toBe('');
  });

  it.each<[number, 'accepted' | 'refused']>([
    [50, 'accepted'],
    [99, 'accepted'],
    [100, 'accepted'],
    [101, 'refused'],
    [20_000, 'refused'],
  ])('P4: attribute values nested %i deep are %s', (depth, outcome) => {
    const wrappings = [
      ['{"arrayValue":{"values":[', ']}}'],
      ['{"kvlistValue":{"values":[{"key":"k","value":', '}]}}'],
      ['[', ']'],
    ] as const;
    for (const [open, close] of wrappings) {
      const deep = `${open.repeat(depth - 1)}{}${close.repeat(depth - 1)}`;
      const body = request(attribute('DEEP')).replace('"DEEP"', deep);
      if (outcome === 'accepted') expect([scan(body).accepted, decodeText(body).length]).toEqual([1, 1]);
      else {
        expect(() => scan(body)).toThrow('attribute values nested more than 100 levels deep');
        expect(() => decodeText(body)).toThrow('attribute values nested more than 100 levels deep');
      }
    }
  });
});

describe('OTLP/JSON: what we take beyond the standard', () => {
  it('attributes as a plain object, with bare values', () => {
    const attributes = {
      text: 'a',
      int: 5,
      double: 1.5,
      huge: 1e300,
      yes: true,
      none: null,
      list: ['a', 1],
      standard: { stringValue: 's' },
    };
    expect(decode({ ...ids, attributes })[0]?.attributes).toEqual(
      new Map<string, unknown>([
        ['text', 'a'],
        ['int', 5n],
        ['double', 1.5],
        ['huge', 1e300],
        ['yes', true],
        ['none', null],
        ['list', ['a', 1n]],
        ['standard', 's'],
      ]),
    );
  });

  it.each<[string | number, number]>([
    ['SPAN_KIND_SERVER', 2],
    ['SERVER', 2],
    ['client', 3],
    ['3', 3],
  ])('kind %j', (kind, expected) => {
    expect(decode({ ...ids, kind })[0]?.kind).toBe(expected);
  });

  it.each<[string | number, number]>([
    ['STATUS_CODE_ERROR', 2],
    ['ERROR', 2],
    ['ok', 1],
  ])('status code %j', (code, expected) => {
    expect(decode({ ...ids, status: { code } })[0]?.statusCode).toBe(expected);
  });

  it.each<[string, bigint]>([
    ['2026-11-21T02:13:00Z', 1795227180000000000n],
    ['2026-11-21T02:13:00.123456789Z', 1795227180123456789n],
    ['2026-11-21T03:13:00.5+01:00', 1795227180500000000n],
    ['2026-11-21T02:13:00', 1795227180000000000n],
  ])('time %s', (time, expected) => {
    expect(decode({ ...ids, startTimeUnixNano: time })[0]?.startUnixNano).toBe(expected);
  });

  it('S4: an unknown top-level key is warned of, as it would be a silent loss', () => {
    expect(scan('{"resource_spans":[]}')).toMatchObject({
      accepted: 0,
      rejected: 0,
      reasons: [],
      warnings: ['the unknown top-level key "resource_spans" was ignored; OTLP/JSON defines resourceSpans'],
    });
  });
});

describe('OTLP/JSON: hostile bodies', () => {
  it('keys such as __proto__ are data and pollute nothing', () => {
    const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty'];
    const plain = `{${names.map((name) => `"${name}":"x"`).join(',')}}`;
    const listed = JSON.stringify(names.map((key) => ({ key, value: { stringValue: 'x' } })));
    for (const attributes of [plain, listed]) {
      const [span] = decodeText(request({ ...ids, attributes: ['HERE'] }).replace('["HERE"]', attributes));
      expect([...(span?.attributes ?? [])]).toEqual(names.map((name) => [name, 'x']));
    }
    expect(Object.hasOwn(Object.prototype, 'x')).toBe(false);
  });

  it('a span whose fields sit in __proto__ has none of them', () => {
    const body = request(ids).replace(JSON.stringify(ids), `{"__proto__":${JSON.stringify(ids)}}`);
    expect(scan(body)).toMatchObject({ accepted: 0, rejected: 1 });
  });

  it('lone surrogates become U+FFFD with a warning, pairs and NUL are kept', () => {
    const name = '\\ud83d\\ude00\\u0000\\ud800x\\udc00';
    const [span] = decodeText(request({ ...ids, name: 'NAME' }).replace('NAME', name));
    expect(span).toMatchObject({ name: '\u{1f600}\u0000\ufffdx\ufffd', warnings: ['invalid_utf8', 'zero_start_time'] });
  });

  it('a lone low surrogate is found as well', () => {
    expect(decodeText(request({ ...ids, name: 'NAME' }).replace('NAME', 'a\\udfff'))[0]?.name).toBe('a\ufffd');
  });

  it('1e400 is an infinite double and no integer', () => {
    const body = request({ ...ids, attributes: [{ key: 'k', value: { doubleValue: 'HUGE' } }] });
    expect(decodeText(body.replace('"HUGE"', '1e400'))[0]?.attributes.get('k')).toBe(Number.POSITIVE_INFINITY);
    expect(scan(body.replace('"HUGE"', '1e400').replace('doubleValue', 'intValue')).rejected).toBe(1);
  });

  it('millions of brackets are refused without parsing them', () => {
    const started = performance.now();
    expect(() => scan('['.repeat(16 * 1024 * 1024))).toThrow('nested more than 10000 levels deep at byte 10000');
    expect(performance.now() - started).toBeLessThan(1000);
  });

  it('more values than memory should hold are refused', () => {
    const limits = { ...defaultOtlpLimits, messagesMax: 10_000 };
    const body = `{"resourceSpans":[${'{},'.repeat(400_000)}{}]}`;
    expect(() => scanTraces('json', Buffer.from(body), limits)).toThrow('more than 20000 values');
    expect(scan(body).accepted).toBe(0);
  });

  it('braces, quotes and backslashes within strings are not counted', () => {
    const limits = { ...defaultOtlpLimits, messagesMax: 100 };
    const body = request({ ...ids, name: '[{,"\\'.repeat(300_000) });
    expect(scanTraces('json', Buffer.from(body), limits).accepted).toBe(1);
  });

  it('100,000 spans without ids are counted quickly, with one reason', () => {
    const body = `{"resourceSpans":[{"scopeSpans":[{"spans":[${'{},'.repeat(99_999)}{}]}]}]}`;
    expect(scan(body)).toMatchObject({
      accepted: 0,
      rejected: 100_000,
      reasons: [expect.stringMatching(/^100000 spans: traceId/)],
    });
  });

  it('many kinds of fault are summed up', () => {
    const faults = [
      { name: 1 },
      { traceState: 1 },
      { kind: 'x' },
      { flags: -1 },
      { startTimeUnixNano: 'x' },
      { endTimeUnixNano: 'x' },
      { events: 1 },
      { links: 1 },
      { status: 1 },
      { attributes: [1] },
      { droppedLinksCount: -1 },
      { droppedEventsCount: -1 },
    ];
    const { rejected, reasons } = scan(request(...faults.map((fault) => ({ ...ids, ...fault }))));
    expect([rejected, reasons.length, reasons.at(-1)]).toEqual([12, 11, '2 more reasons']);
  });
});

function attribute(value: unknown) {
  return { ...ids, attributes: [{ key: 'k', value }] };
}

function value(sent: unknown) {
  return decode(attribute(sent))[0]?.attributes.get('k');
}

function request(...spans: unknown[]): string {
  return JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
}

function decode(...spans: unknown[]): Span[] {
  return decodeText(request(...spans));
}

function decodeText(body: string, limits: OtlpLimits = defaultOtlpLimits): Span[] {
  return decodeTraces('json', Buffer.from(body), limits);
}

function scan(body: string) {
  return scanTraces('json', Buffer.from(body), defaultOtlpLimits);
}
