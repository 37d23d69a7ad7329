import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { answerFixed, fixedContent, takesGzip } from '../../../src/http/fixed-content.ts';

describe('fixed content', () => {
  test('is answered plain or compressed, each with a tag of its own', async () => {
    const content = await fixedContent('a'.repeat(1_000), 'text/plain');
    const plain = answerFixed(content, {}, { 'X-Own': '1' });
    const packed = answerFixed(content, { 'accept-encoding': 'br, gzip' }, { 'X-Own': '1' });
    expect(plain).toMatchObject({ status: 200, contentType: 'text/plain' });
    expect(plain.headers).toEqual({ 'X-Own': '1', Vary: 'Accept-Encoding' });
    expect(packed.headers).toEqual({ 'X-Own': '1', Vary: 'Accept-Encoding', 'Content-Encoding': 'gzip' });
    expect(packed.etag).not.toBe(plain.etag);
    expect(gunzipSync(packed.content).toString()).toBe(String(plain.content));
  });

  test.each([
    [undefined, false],
    ['', false],
    ['gzip', true],
    ['GZIP;q=0.5', true],
    ['deflate, gzip;q=1.0, *;q=0.5', true],
    ['gzip;q=0', false],
    ['gzip; q=0.000', false],
    ['gzip;q=0.001', true],
    ['identity, br', false],
    ['*', false],
    ['x-gzip', false],
  ])('with Accept-Encoding %s is compressed: %s', (header, expected) => {
    expect(takesGzip(header)).toBe(expected);
  });
});
