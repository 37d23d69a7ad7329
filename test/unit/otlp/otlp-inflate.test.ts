import { randomBytes } from 'node:crypto';
import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { inflateBounded } from '../../../src/otlp/inflate.ts';

const mebibyte = 1024 * 1024;
const content = Buffer.from('spans '.repeat(10_000));
const tooLarge = expect.objectContaining({ kind: 'too_large', code: 'body_too_large' });
const corrupt = expect.objectContaining({ kind: 'malformed', code: 'corrupt_body' });

describe('inflating a body', () => {
  it.each<[string, 'identity' | 'gzip' | 'deflate', Buffer]>([
    ['identity', 'identity', content],
    ['gzip', 'gzip', gzipSync(content)],
    ['gzip of two members', 'gzip', Buffer.concat([gzipSync(content.subarray(0, 7)), gzipSync(content.subarray(7))])],
    ['deflate', 'deflate', deflateSync(content)],
    ['raw deflate', 'deflate', deflateRawSync(content)],
  ])('%s gives the content, also when it is exactly as large as allowed', async (_, coding, body) => {
    expect(content.equals(await inflateBounded(coding, body, mebibyte))).toBe(true);
    expect(content.equals(await inflateBounded(coding, body, content.length))).toBe(true);
  });

  it.each<[string, 'identity' | 'gzip' | 'deflate', Buffer]>([
    ['identity', 'identity', content],
    ['gzip', 'gzip', gzipSync(content)],
    ['gzip of two members', 'gzip', Buffer.concat([gzipSync(content.subarray(0, 7)), gzipSync(content.subarray(7))])],
    ['deflate', 'deflate', deflateSync(content)],
    ['raw deflate', 'deflate', deflateRawSync(content)],
  ])('%s one byte over the cap is too large', async (_, coding, body) => {
    await expect(inflateBounded(coding, body, content.length - 1)).rejects.toThrow(tooLarge);
  });

  it.each<[string, 'gzip' | 'deflate', Buffer]>([
    ['gzip cut short', 'gzip', gzipSync(content).subarray(0, -5)],
    ['gzip without bytes', 'gzip', Buffer.alloc(0)],
    ['gzip with bytes after its end', 'gzip', Buffer.concat([gzipSync(content), Buffer.from('x')])],
    ['gzip with zeros after its end', 'gzip', Buffer.concat([gzipSync(content), Buffer.alloc(8)])],
    ['gzip with a wrong checksum', 'gzip', withByteChanged(gzipSync(content), -6)],
    ['plain text said to be gzip', 'gzip', content],
    ['random bytes said to be gzip', 'gzip', randomBytes(100)],
    ['deflate cut short', 'deflate', deflateSync(content).subarray(0, -5)],
    ['deflate with bytes after its end', 'deflate', Buffer.concat([deflateSync(content), Buffer.from('x')])],
    ['plain text said to be deflate', 'deflate', content],
  ])('%s is corrupt', async (_, coding, body) => {
    await expect(inflateBounded(coding, body, mebibyte)).rejects.toThrow(corrupt);
  });

  it('a gzip bomb of 1 MB for 1 GiB stops at the cap, in little memory', async () => {
    const member = gzipSync(Buffer.alloc(mebibyte));
    const bomb = Buffer.alloc(1024 * member.length, member);
    const rssBefore = process.memoryUsage.rss();
    let rssMost = 0;
    const sampling = setInterval(() => {
      rssMost = Math.max(rssMost, process.memoryUsage.rss());
    }, 1);
    await expect(inflateBounded('gzip', bomb, 64 * mebibyte)).rejects.toThrow(tooLarge);
    clearInterval(sampling);
    expect(Math.max(rssMost, process.memoryUsage.rss()) - rssBefore).toBeLessThan(100 * mebibyte);
  });
});

function withByteChanged(bytes: Buffer, at: number): Buffer {
  const changed = Buffer.from(bytes);
  const index = changed.length + at;
  changed[index] = (changed[index] ?? 0) ^ 0xff;
  return changed;
}
