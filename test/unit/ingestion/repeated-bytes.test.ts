import { describe, expect, test } from 'vitest';
import { encodeLogs as encodeLogRows } from '../../../src/domains/log-records/reads.ts';
import { TooLargeError } from '../../../src/lib/errors.ts';
import { decodeLogs } from '../../../src/otlp/decode-logs.ts';
import { defaultOtlpLimits } from '../../../src/otlp/limits.ts';
import { scanBody } from '../../../src/otlp/scan.ts';
import { encodeLogs, encodeTraces } from '../../support/otlp-encode.ts';

const limits = defaultOtlpLimits;
const encodings = ['protobuf', 'json'] as const;
const ids = { traceId: '0102030405060708090a0b0c0d0e0f10', spanId: '1112131415161718' };

/** Log records that are kept, in two scopes of one resource. */
function logBody(encoding: (typeof encodings)[number], records: number, resource: Record<string, string | Uint8Array>) {
  const logRecords = Array.from({ length: records }, () => ({ ...ids, eventName: 'e', body: 'x' }));
  const scope = { name: 'a scope', attributes: { 'scope.text': '"quoted"\n' } };
  const scopeLogs = [
    { scope, logRecords },
    { scope: { name: 'another' }, logRecords },
  ];
  return encodeLogs(encoding, [{ resource: { attributes: resource }, scopeLogs }]);
}

async function rowBytesOf(encoding: (typeof encodings)[number], body: Buffer): Promise<number> {
  const records = decodeLogs(encoding, body, limits);
  const request = { projectId: 'prj_x', receivedAtMs: 0, retentionDays: 1, keepOther: true };
  return (await encodeLogRows({ ...request, body, records })).rows.bytes.length;
}

describe.each(encodings)('rows of %s', (encoding) => {
  test.each([
    ['plain text', { 'service.name': 'shop', text: 'a plain text. '.repeat(200) }, 1.3],
    ['many attributes', Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`k8s.name.${n}`, `value ${n}`])), 1.9],
    ['text that JSON escapes', { text: '\u0001"\\\n'.repeat(500) }, 1.9],
    ['bytes', { bytes: Buffer.alloc(3_000, 'printable') }, 1.3],
  ])(
    'that repeat a resource of %s have about as many bytes as the scan says, and not more',
    async (_of, resource, most) => {
      const records = 200;
      const body = logBody(encoding, records, resource);
      // What is not repeated is the same in rows of a resource without attributes.
      const bare = logBody(encoding, records, {});
      const { repeatedBytes } = scanBody('logs', encoding, body, limits);
      const inRows = (await rowBytesOf(encoding, body)) - (await rowBytesOf(encoding, bare));
      expect(repeatedBytes).toBeGreaterThan(inRows);
      expect(repeatedBytes).toBeLessThan((inRows + records * 2 * 300) * most);
    },
  );

  test('that would repeat too much are refused with what is too large and what helps', () => {
    const body = logBody(encoding, 5_000, { text: 'x'.repeat(30_000) });
    const refused = () => scanBody('logs', encoding, body, limits);
    expect(refused).toThrow(TooLargeError);
    expect(refused).toThrow(
      /For the 10000 log records .* have 3\d{8} bytes; the limit is 134217728\. Send fewer log records/,
    );
  });

  test('of as many spans as a request may have, with a resource of 2 KB and a scope, are not refused', () => {
    const spans = Array.from({ length: limits.spansMax }, () => ids);
    const attributes = Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`k8s.attribute.${n}`, 'x'.repeat(32)]));
    const body = encodeTraces(encoding, [{ resource: { attributes }, scopeSpans: [{ scope: { name: 's' }, spans }] }]);
    expect(scanBody('traces', encoding, body, limits).repeatedBytes).toBeLessThan(limits.repeatedBytesMax / 2);
  });

  test('of spans that share nothing repeat nothing', () => {
    const one = { resource: { attributes: { text: 'x' } }, scopeSpans: [{ spans: [ids] }] };
    expect(scanBody('traces', encoding, encodeTraces(encoding, [one, one, one]), limits).repeatedBytes).toBe(0);
  });
});
