import { describe, expect, it } from 'vitest';
import { decodeTraces } from '../../../src/otlp/decode.ts';
import { defaultOtlpLimits, LongStepError, type OtlpLimits, stepElementsMax } from '../../../src/otlp/limits.ts';
import { scanTraces } from '../../../src/otlp/scan.ts';
import type { AnyValue, Span } from '../../../src/otlp/span.ts';
import { encodeSpans, encodeTraces, type SpanInput } from '../../support/otlp-encode.ts';

const traceId = '0102030405060708090a0b0c0d0e0f10';
const spanId = '1112131415161718';
const ids = { traceId, spanId };

describe('OTLP protobuf: wire format', () => {
  it('very many unknown fields are too much for one step, groups included', () => {
    const limits = { ...defaultOtlpLimits, stepElementsMax };
    const of = (unknown: Buffer) => request(Buffer.concat([spanBytes(), unknown]));
    const groups = (count: number) => of(Buffer.concat(Array(count).fill(Buffer.from([...tag(15, 3), ...tag(15, 4)]))));
    const empty = (count: number) => of(Buffer.alloc(2 * count, Buffer.from([...tag(3, 2), 0])));
    expect(scanTraces('protobuf', groups(1_000), limits).accepted).toBe(1);
    for (const body of [groups(200_000), empty(500_000)]) {
      expect(() => scanTraces('protobuf', body, limits)).toThrow(LongStepError);
      expect(scanTraces('protobuf', body, defaultOtlpLimits).accepted).toBe(1);
    }
  });

  it.each(['protobuf', 'json'] as const)(
    '%s: more than four keys of 16,000 bytes are malformed, also within values; what was accepted is read',
    (encoding) => {
      const of = (long: number, nested: number) => {
        const keys = (count: number) =>
          Array.from({ length: count }, (_, n) => [`${n}`.padEnd(16_000, 'k'), 'x'] as const);
        const attributes = new Map<string, AnyValue>([...keys(long), ['in', new Map(keys(nested))]]);
        return encodeTraces(encoding, [{ scopeSpans: [{ spans: [{ ...ids, attributes }] }] }]);
      };
      expect(scanTraces(encoding, of(2, 2), defaultOtlpLimits).accepted).toBe(1);
      for (const body of [of(5, 0), of(0, 5), of(3, 2)]) {
        expect(() => scanTraces(encoding, body, defaultOtlpLimits)).toThrow('more than 4 keys of 16000 bytes');
        const limits = { ...defaultOtlpLimits, longKeysMax: Number.POSITIVE_INFINITY };
        expect(decodeTraces(encoding, body, limits)).toHaveLength(1);
      }
    },
  );

  it('P1: unknown fields of every wire type, groups included, are skipped', () => {
    const unknown = Buffer.concat([
      Buffer.from([...tag(900, 0), 0x96, 0x01]),
      Buffer.from([...tag(901, 1), 1, 2, 3, 4, 5, 6, 7, 8]),
      field(902, Buffer.from('anything')),
      Buffer.from([...tag(903, 3), ...tag(1, 0), 5, ...tag(2, 3), ...tag(2, 4), ...tag(903, 4)]),
      Buffer.from([...tag(904, 5), 1, 2, 3, 4]),
    ]);
    const body = request(Buffer.concat([unknown, spanBytes(), unknown, field(5, Buffer.from('named'))]));
    expect(decode(Buffer.concat([unknown, body, unknown]))[0]).toMatchObject({ ...ids, name: 'named' });
  });

  it('P2: two concatenated requests decode to the spans of both', () => {
    const other = encodeSpans('protobuf', [{ traceId, spanId: '2122232425262728' }]);
    expect(decode(Buffer.concat([request(spanBytes()), other])).map((span) => span.spanId)).toEqual([
      spanId,
      '2122232425262728',
    ]);
  });

  it('P2: a resource, a status and an array sent in two pieces are merged', () => {
    const piece = (key: string) => field(1, field(1, keyValue(key, field(1, Buffer.from(key)))));
    const array = (text: string) => field(5, field(1, field(1, Buffer.from(text))));
    const span = Buffer.concat([
      spanBytes(),
      field(15, Buffer.from([0x18, 2])),
      field(15, field(2, Buffer.from('why'))),
      field(9, keyValue('list', Buffer.concat([array('a'), array('b')]))),
    ]);
    const body = field(1, Buffer.concat([piece('a'), field(2, field(2, span)), piece('b')]));
    const [decoded] = decode(body);
    expect(decoded).toMatchObject({ statusCode: 2, statusMessage: 'why' });
    expect(decoded?.attributes.get('list')).toEqual(['a', 'b']);
    expect(decoded?.resource.attributes).toEqual(
      new Map([
        ['a', 'a'],
        ['b', 'b'],
      ]),
    );
  });

  it.each<[string, Buffer]>([
    ['a length past the end', Buffer.from([0x0a, 0x05, 0x00])],
    ['a length of 2^31', Buffer.from([0x0a, 0x80, 0x80, 0x80, 0x80, 0x08])],
    ['a length of 2^63', Buffer.from([0x0a, ...Array(8).fill(0x80), 0x80, 0x01])],
    ['a varint cut short', request(Buffer.concat([spanBytes(), Buffer.from([0x30, 0x80])]))],
    [
      'a varint of eleven bytes',
      request(Buffer.concat([spanBytes(), Buffer.from([0x30, ...Array(10).fill(0x80), 0x01])])),
    ],
    ['a tag over 32 bits', Buffer.from([0x80, 0x80, 0x80, 0x80, 0x20, 0x00])],
    ['wire type 6', request(Buffer.concat([spanBytes(), Buffer.from([0x36, 0x00])]))],
    ['wire type 7', Buffer.from([0x0f])],
    ['field number 0', Buffer.from([0x00, 0x00])],
    ['a fixed64 cut short', request(Buffer.concat([spanBytes(), Buffer.from([0x39, 1, 2, 3])]))],
    ['an end of a group never begun', Buffer.from([0x0c])],
    ['a group never ended', Buffer.from([...tag(900, 3), 0x08, 0x01])],
    ['a group ended by another number', Buffer.from([...tag(900, 3), ...tag(901, 4)])],
    [
      'groups nested 101 deep',
      Buffer.from([...Array(101).fill(tag(900, 3)).flat(), ...Array(101).fill(tag(900, 4)).flat()]),
    ],
    [
      'an attribute value cut short, deep inside',
      request(Buffer.concat([spanBytes(), field(9, keyValue('k', Buffer.from([0x2a, 0x02, 0x0a, 0x05])))])),
    ],
    ['a bad field in a span that would be rejected', request(Buffer.from([0x0a, 0x01, 0x01, 0x39, 0x00]))],
  ])('P3: %s is malformed, in the scan and the decoder', (_, body) => {
    expect(() => scan(body)).toThrow(expect.objectContaining({ kind: 'malformed', code: 'malformed_otlp' }));
    expect(() => decode(body)).toThrow(expect.objectContaining({ kind: 'malformed', code: 'malformed_otlp' }));
  });

  it('P3: the message of a malformed body names what, the byte and the field', () => {
    const body = request(Buffer.concat([spanBytes(), field(9, keyValue('k', Buffer.from([0x0a, 0x7f])))]));
    expect(() => scan(body)).toThrow(
      `Not an OTLP protobuf body: length 127 exceeds the 0 bytes that its message has left at byte ${body.length - 1} (in request.resourceSpans.scopeSpans.spans.attributes.value)`,
    );
  });

  it('P3: an over-long varint of ten bytes is read', () => {
    const body = request(Buffer.concat([spanBytes(), Buffer.from([0x30, 0x83, ...Array(8).fill(0x80), 0x00])]));
    expect(decode(body)[0]?.kind).toBe(3);
    expect(scan(body).accepted).toBe(1);
  });

  it('P3: a known field with another wire type is skipped as unknown', () => {
    const body = request(
      Buffer.concat([spanBytes(), Buffer.from([...tag(5, 0), 7, ...tag(6, 2), 1, 9, ...tag(9, 0), 1])]),
    );
    expect(decode(body)[0]).toMatchObject({ name: '', kind: 0, attributes: new Map() });
    expect(scan(body)).toMatchObject({ accepted: 1, rejected: 0 });
  });

  it.each<[number, 'accepted' | 'refused']>([
    [50, 'accepted'],
    [99, 'accepted'],
    [100, 'accepted'],
    [101, 'refused'],
    [20_000, 'refused'],
  ])('P4: attribute values nested %i deep are %s', (depth, outcome) => {
    for (const wrap of [wrapInArray, wrapInList]) {
      const body = request(Buffer.concat([spanBytes(), field(9, keyValue('deep', nested(depth, wrap)))]));
      if (outcome === 'accepted') {
        expect(scan(body).accepted).toBe(1);
        expect(decode(body)).toHaveLength(1);
      } else {
        expect(() => scan(body)).toThrow('attribute values nested more than 100 levels deep');
        expect(() => decode(body)).toThrow('attribute values nested more than 100 levels deep');
      }
    }
  });

  it('P5: of several members of a value the last wins, and a value without any is null', () => {
    const several = Buffer.concat([field(1, Buffer.from('text')), Buffer.from([0x18, 5]), Buffer.from([0x10, 1])]);
    const body = request(
      Buffer.concat([spanBytes(), field(9, keyValue('a', several)), field(9, keyValue('b', Buffer.alloc(0)))]),
    );
    expect(decode(body)[0]?.attributes).toEqual(
      new Map<string, unknown>([
        ['a', true],
        ['b', null],
      ]),
    );
  });

  it('P6: string table references are ignored with a warning', () => {
    const pair = Buffer.concat([Buffer.from([0x18, 4]), keyValue('k', Buffer.from([0x40, 7]))]);
    const body = request(Buffer.concat([spanBytes(), field(9, pair)]));
    expect(decode(body)[0]).toMatchObject({
      attributes: new Map([['k', null]]),
      warnings: ['strindex_ignored', 'zero_start_time'],
    });
    expect(scan(body).warnings).toEqual(['string table references (*Strindex) belong to profiles and were ignored']);
  });

  it('P7: times are fixed64 and flags fixed32, each to its last bit', () => {
    const max = 2n ** 64n - 1n;
    const body = encodeSpans('protobuf', [{ ...ids, startUnixNano: max, endUnixNano: max, flags: 0xffff_ffff }]);
    expect(decode(body)[0]).toMatchObject({ startUnixNano: max, endUnixNano: max, flags: 0xffff_ffff });
  });

  it('P8: entity references of a resource are ignored', () => {
    const resource = field(3, Buffer.from([0x0a, 0x01, 0x61]));
    const body = field(1, Buffer.concat([field(1, resource), field(2, field(2, spanBytes()))]));
    expect(decode(body)[0]?.resource.attributes.size).toBe(0);
  });

  it('S2: no bytes, empty resources and empty scopes are a request without spans', () => {
    for (const body of [Buffer.alloc(0), field(1, Buffer.alloc(0)), field(1, field(2, Buffer.alloc(0)))]) {
      expect(scan(body)).toMatchObject({ accepted: 0, rejected: 0, reasons: [], warnings: [] });
      expect(decode(body)).toEqual([]);
    }
  });

  it('a body with millions of empty messages is refused before it costs memory', () => {
    const limits = { ...defaultOtlpLimits, messagesMax: 1000 };
    const body = request(Buffer.concat([spanBytes(), Buffer.concat(Array(1000).fill(field(11, Buffer.alloc(0))))]));
    expect(() => scan(body, limits)).toThrow('more than 1000 messages');
    expect(() => decode(body, limits)).toThrow('more than 1000 messages');
  });

  it('decoded bytes are copies, so that the body can be reused', () => {
    const body = encodeSpans('protobuf', [{ ...ids, attributes: { raw: Buffer.from([1, 2, 3]) } }]);
    const [span] = decode(body);
    body.fill(0);
    expect(span?.attributes.get('raw')).toEqual(new Uint8Array([1, 2, 3]));
  });
});

describe('OTLP protobuf: span values', () => {
  it.each<[string, { traceId: string; spanId: string; parentSpanId?: string }, string]>([
    [
      'V1: a trace id of 15 bytes',
      { traceId: traceId.slice(2), spanId },
      'traceId must be 16 bytes (32 hex characters), not all zero, not 02030405060708090a0b0c0d0e0f10 (length 15)',
    ],
    [
      'V1: a trace id of zeros',
      { traceId: '0'.repeat(32), spanId },
      'traceId must be 16 bytes (32 hex characters), not all zero, not 00000000000000000000000000000000 (length 16)',
    ],
    ['V1: no span id', { traceId, spanId: '' }, 'spanId must be 8 bytes (16 hex characters), not all zero, not absent'],
    [
      'V1: a span id of zeros',
      { traceId, spanId: '0'.repeat(16) },
      'spanId must be 8 bytes (16 hex characters), not all zero, not 0000000000000000 (length 8)',
    ],
    [
      'V2: a parent id of 7 bytes',
      { ...ids, parentSpanId: '01020304050607' },
      'parentSpanId must be empty, all zero or 8 bytes (16 hex characters), not 01020304050607 (length 7)',
    ],
  ])('%s rejects that span alone', (_, span, reason) => {
    const body = encodeSpans('protobuf', [span, { traceId, spanId: '2122232425262728' }]);
    expect(scan(body)).toMatchObject({ accepted: 1, rejected: 1, reasons: [`1 span: ${reason}`], warnings: [] });
    expect(decode(body).map((decoded) => decoded.spanId)).toEqual(['2122232425262728']);
  });

  it('V2: an empty and an all-zero parent id make a root', () => {
    const body = encodeSpans('protobuf', [
      { ...ids, parentSpanId: '' },
      { ...ids, parentSpanId: '0'.repeat(16) },
    ]);
    expect(decode(body).map((span) => span.parentSpanId)).toEqual(['', '']);
  });

  it('V3: an empty name and unknown kinds are kept', () => {
    expect(decode(encodeSpans('protobuf', [{ ...ids, name: '', kind: 77 }]))[0]).toMatchObject({ name: '', kind: 77 });
  });

  it('V4: end before start and a zero start are accepted, unaltered, with a warning', () => {
    const [late, zero] = decode(
      encodeSpans('protobuf', [
        { ...ids, startUnixNano: 9n, endUnixNano: 8n },
        { ...ids, endUnixNano: 8n },
      ]),
    );
    expect(late).toMatchObject({ startUnixNano: 9n, endUnixNano: 8n, warnings: ['end_before_start'] });
    expect(zero).toMatchObject({ startUnixNano: 0n, endUnixNano: 8n, warnings: ['zero_start_time'] });
  });

  it('V5: of a repeated attribute key the last wins', () => {
    const pair = (value: string) => field(9, keyValue('k', field(1, Buffer.from(value))));
    expect(decode(request(Buffer.concat([spanBytes(), pair('a'), pair('b')])))[0]?.attributes).toEqual(
      new Map([['k', 'b']]),
    );
  });

  it('V6: every field of a span, its scope and its resource survives', () => {
    const attributes = { 'a.key': 'value', __proto__x: 1n };
    const attributed = { attributes: new Map(Object.entries(attributes)), droppedAttributesCount: 3 };
    const span = {
      ...ids,
      parentSpanId: '2122232425262728',
      traceState: 'vendor=1',
      flags: 0x301,
      name: 'chat',
      kind: 3,
      startUnixNano: 1n,
      endUnixNano: 2n,
      ...attributed,
      events: [{ timeUnixNano: 5n, name: 'event', ...attributed }],
      droppedEventsCount: 4,
      links: [{ ...ids, traceState: 'x=y', flags: 1, ...attributed }],
      droppedLinksCount: 5,
      statusCode: 2,
      statusMessage: 'broken',
    };
    const scope = { name: 'lib', version: '1.2', ...attributed };
    const input = [
      { resource: attributed, schemaUrl: 'https://r', scopeSpans: [{ scope, schemaUrl: 'https://s', spans: [span] }] },
    ];
    const expected = {
      ...span,
      resource: { ...attributed, schemaUrl: 'https://r' },
      scope: { ...scope, schemaUrl: 'https://s' },
      warnings: [],
    };
    expect(decode(encodeTraces('protobuf', input))).toEqual([expected]);
  });

  it('V7: NUL and any Unicode are kept, invalid UTF-8 becomes U+FFFD with a warning', () => {
    const text = 'a\u0000b\u{1f600}é';
    const body = request(
      Buffer.concat([spanBytes(), field(5, Buffer.from(text)), field(3, Buffer.from([0x61, 0xff, 0x62]))]),
    );
    expect(decode(body)[0]).toMatchObject({
      name: text,
      traceState: 'a\ufffdb',
      warnings: ['invalid_utf8', 'zero_start_time'],
    });
  });

  it('V7: a U+FFFD that was sent is no fault', () => {
    expect(
      decode(encodeSpans('protobuf', [{ ...ids, name: 'a\ufffdb', startUnixNano: 1n, endUnixNano: 1n }]))[0]?.warnings,
    ).toEqual([]);
  });

  it('V8: integers keep all 64 bits', () => {
    const values = [2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n + 1n, -1n, 0n];
    expect(decode(encodeSpans('protobuf', [{ ...ids, attributes: { values } }]))[0]?.attributes.get('values')).toEqual(
      values,
    );
  });

  it('links without valid ids are dropped and counted, the span is kept', () => {
    const links = [
      { traceId, spanId: '01' },
      { traceId: '', spanId },
      { traceId, spanId },
    ];
    const body = encodeSpans('protobuf', [{ ...ids, links, droppedLinksCount: 1, startUnixNano: 1n, endUnixNano: 1n }]);
    expect(decode(body)[0]).toMatchObject({
      links: [{ traceId, spanId }],
      droppedLinksCount: 3,
      warnings: ['invalid_link_dropped'],
    });
    expect(scan(body)).toMatchObject({
      accepted: 1,
      warnings: ['links without a valid traceId of 16 bytes and spanId of 8 bytes were dropped'],
    });
  });
});

describe.each(['protobuf', 'json'] as const)('OTLP limits, %s', (encoding) => {
  const times = { startUnixNano: 1n, endUnixNano: 1n };

  it('L1: spans past the limit are rejected one by one', () => {
    const spans = Array.from({ length: 5 }, (_, index) => ({ traceId, spanId: `000000000000000${index + 1}` }));
    const limits = { ...defaultOtlpLimits, spansMax: 3 };
    const body = encodeSpans(encoding, spans);
    expect(scanTraces(encoding, body, limits)).toMatchObject({
      accepted: 3,
      rejected: 2,
      reasons: ['2 spans: a request may have at most 3 spans, not, for example, span 4 and later'],
      warnings: [],
    });
    expect(decodeTraces(encoding, body, limits).map((span) => span.spanId)).toEqual(
      spans.slice(0, 3).map((span) => span.spanId),
    );
  });

  it('L1: strings and bytes over the limit are cut at a character, at any depth, with a warning', () => {
    const limits = { ...defaultOtlpLimits, attributeValueBytesMax: 4 };
    const attributes = { text: 'abcdé', inner: ['€€'], raw: Buffer.from([1, 2, 3, 4, 5]), fits: 'abcd' };
    const body = encodeSpans(encoding, [{ ...ids, ...times, attributes }]);
    const [span] = decodeTraces(encoding, body, limits);
    expect(span?.attributes).toEqual(
      new Map<string, unknown>([
        ['text', 'abcd'],
        ['inner', ['€']],
        ['raw', new Uint8Array([1, 2, 3, 4])],
        ['fits', 'abcd'],
      ]),
    );
    expect(span?.warnings).toEqual(['attribute_truncated']);
    expect(scanTraces(encoding, body, limits).warnings).toEqual([
      'attribute values longer than 4 bytes were truncated',
    ]);
  });

  it('L1: names and other texts outside of attributes are cut at a character, with a warning; keys are not', () => {
    const limits = { ...defaultOtlpLimits, attributeValueBytesMax: 4 };
    const span = {
      ...ids,
      ...times,
      name: 'abcdé',
      traceState: 'a=1,b=2',
      statusMessage: '€€',
      attributes: { longer: 'abcd' },
      events: [{ name: 'event' }],
      links: [{ ...ids, traceState: 'c=3,d=4' }],
    };
    const scopeSpans = [{ scope: { name: 'scope', version: '1.2.3' }, schemaUrl: 'https', spans: [span] }];
    const body = encodeTraces(encoding, [{ schemaUrl: 'https', scopeSpans }]);
    const [decoded] = decodeTraces(encoding, body, limits);
    expect(decoded).toMatchObject({
      ...{ name: 'abcd', traceState: 'a=1,', statusMessage: '€' },
      events: [{ name: 'even' }],
      links: [{ traceState: 'c=3,' }],
      scope: { name: 'scop', version: '1.2.', schemaUrl: 'http' },
      resource: { schemaUrl: 'http' },
      warnings: ['text_truncated'],
    });
    expect([...(decoded?.attributes.keys() ?? [])]).toEqual(['longer']);
    expect(scanTraces(encoding, body, limits).warnings).toEqual([
      'names and other texts outside of attributes, longer than 4 bytes, were truncated',
    ]);
  });

  it.each<[string, Partial<SpanInput>]>([
    ['name', { name: 'abcde' }],
    ['trace state', { traceState: 'abcde' }],
    ['status message', { statusMessage: 'abcde' }],
    ['name of an event', { events: [{ name: 'abcde' }] }],
    ['trace state of a link', { links: [{ ...ids, traceState: 'abcde' }] }],
  ])('L1: the %s of a span is known to be cut by scan and decode', (_, field) => {
    const limits = { ...defaultOtlpLimits, attributeValueBytesMax: 4 };
    const body = encodeSpans(encoding, [{ ...ids, ...times, ...field }]);
    expect(decodeTraces(encoding, body, limits)[0]?.warnings).toEqual(['text_truncated']);
    expect(scanTraces(encoding, body, limits).warnings).toHaveLength(1);
  });

  it('L1: attributes, events and links past their limits are dropped and counted, with a warning', () => {
    const limits = { ...defaultOtlpLimits, attributesMax: 2, eventsMax: 1, linksMax: 1 };
    const attributes = { a: 'x', b: 'x', c: 'x', d: 'x' };
    const span = {
      ...ids,
      ...times,
      attributes,
      droppedAttributesCount: 10,
      events: [{ name: 'first', attributes }, { name: 'second' }],
      links: [ids, ids, ids],
      droppedLinksCount: 0xffff_ffff,
    };
    const body = encodeSpans(encoding, [span]);
    const [decoded] = decodeTraces(encoding, body, limits);
    expect([...(decoded?.attributes.keys() ?? [])]).toEqual(['a', 'b']);
    expect(decoded).toMatchObject({
      droppedAttributesCount: 12,
      droppedEventsCount: 1,
      droppedLinksCount: 0xffff_ffff,
    });
    expect(decoded?.events).toMatchObject([{ name: 'first', droppedAttributesCount: 2 }]);
    expect(decoded?.warnings).toEqual(['attributes_dropped', 'events_dropped', 'links_dropped']);
    expect(scanTraces(encoding, body, limits).warnings).toEqual([
      'attributes after the first 2 of a list were dropped',
      'events after the first 1 of a span were dropped',
      'links after the first 1 of a span were dropped',
    ]);
  });

  it('L1: what is cut in a resource is noted on each of its spans', () => {
    const limits = { ...defaultOtlpLimits, attributesMax: 1 };
    const body = encodeTraces(encoding, [
      {
        resource: { attributes: { a: 'x', b: 'x' } },
        scopeSpans: [
          {
            spans: [
              { ...ids, ...times },
              { ...ids, ...times },
            ],
          },
        ],
      },
      { scopeSpans: [{ spans: [{ ...ids, ...times }] }] },
    ]);
    const spans = decodeTraces(encoding, body, limits);
    expect(spans.map((span) => span.warnings)).toEqual([['attributes_dropped'], ['attributes_dropped'], []]);
    expect(spans[0]?.resource.droppedAttributesCount).toBe(1);
  });
});

function scan(body: Uint8Array, limits: OtlpLimits = defaultOtlpLimits) {
  return scanTraces('protobuf', body, limits);
}

function decode(body: Uint8Array, limits: OtlpLimits = defaultOtlpLimits): Span[] {
  return decodeTraces('protobuf', body, limits);
}

function request(span: Uint8Array): Buffer {
  return field(1, field(2, field(2, span)));
}

function spanBytes(): Buffer {
  return Buffer.concat([field(1, Buffer.from(traceId, 'hex')), field(2, Buffer.from(spanId, 'hex'))]);
}

function keyValue(key: string, value: Uint8Array): Buffer {
  return Buffer.concat([field(1, Buffer.from(key)), field(2, value)]);
}

/**
 * `depth` AnyValues, each inside the one before; the innermost is empty. `wrap` gives what goes
 * before so many bytes.
 */
function nested(depth: number, wrap: (innerBytes: number) => Buffer): Buffer {
  const starts: Buffer[] = [];
  let bytes = 0;
  for (let level = 1; level < depth; level++) {
    const start = wrap(bytes);
    bytes += start.length;
    starts.push(start);
  }
  return Buffer.concat(starts.reverse());
}

function wrapInArray(innerBytes: number): Buffer {
  const values = Buffer.from([...tag(1, 2), ...varint(innerBytes)]);
  return Buffer.concat([Buffer.from([...tag(5, 2), ...varint(values.length + innerBytes)]), values]);
}

function wrapInList(innerBytes: number): Buffer {
  const pair = Buffer.from([...field(1, Buffer.from('k')), ...tag(2, 2), ...varint(innerBytes)]);
  const values = Buffer.from([...tag(1, 2), ...varint(pair.length + innerBytes)]);
  const list = [...tag(6, 2), ...varint(values.length + pair.length + innerBytes)];
  return Buffer.concat([Buffer.from(list), values, pair]);
}

function field(number: number, bytes: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(tag(number, 2)), Buffer.from(varint(bytes.length)), bytes]);
}

function tag(number: number, wireType: number): number[] {
  return varint(number * 8 + wireType);
}

function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)];
}
