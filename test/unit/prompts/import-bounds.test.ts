import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { parseLine } from '../../../src/domains/prompts/transfer/check-lines.ts';
import { Deadline } from '../../../src/domains/prompts/transfer/deadline.ts';
import { type LineBounds, type LineEncoding, readLines } from '../../../src/domains/prompts/transfer/read-lines.ts';
import { spoolBody } from '../../../src/domains/prompts/transfer/spool-body.ts';
import { TooLargeError } from '../../../src/lib/errors.ts';

const opened: FileHandle[] = [];

afterEach(async () => {
  vi.useRealTimers();
  for (const file of opened.splice(0)) await file.close();
});

async function fileOf(content: Uint8Array): Promise<FileHandle> {
  const directory = await mkdtemp(join(tmpdir(), 'promptlane-bounds-'));
  const file = await open(join(directory, 'body'), 'wx+');
  opened.push(file);
  await rm(directory, { recursive: true });
  await file.write(content);
  return file;
}

const ample: LineBounds = { bytesMax: 1_000_000, lineBytesMax: 1_000_000, linesMax: 1_000 };

/** The lines of a text that was sent so, or why it was refused after how many. */
async function read(text: string, encoding: LineEncoding, bounds: Partial<LineBounds>) {
  const file = await fileOf(encoding === 'gzip' ? gzipSync(text) : Buffer.from(text));
  let lines = 0;
  try {
    for await (const line of readLines(file, encoding, { ...ample, ...bounds })) lines = line.number;
    return { lines };
  } catch (error) {
    if (!(error instanceof TooLargeError)) throw error;
    return { lines, code: error.code, message: error.message };
  }
}

describe.each(['identity', 'gzip'] as const)('the lines of an import with the encoding %s', (encoding) => {
  test('may have as many bytes as the bound, inflated, and not one more', async () => {
    const text = `${'x'.repeat(9)}\n`.repeat(100);
    expect(await read(text, encoding, { bytesMax: 1_000 })).toEqual({ lines: 100 });
    expect(await read(`${text}x`, encoding, { bytesMax: 1_000 })).toMatchObject({
      code: 'body_too_large',
      message: 'An import may have at most 1000 bytes after decompression',
    });
  });

  test('are refused at the bound of bytes, however much is behind it', async () => {
    // Beyond what an inflater or a file gives out at once, so that those before the bound have been read.
    const { lines, code } = await read(`${'x'.repeat(999)}\n`.repeat(1_000), encoding, { bytesMax: 500_000 });
    expect(code).toBe('body_too_large');
    expect(lines).toBeGreaterThan(0);
    expect(lines).toBeLessThanOrEqual(500);
  });

  test('have a bound each', async () => {
    const { code, message } = await read(`short\n${'x'.repeat(200_000)}`, encoding, { lineBytesMax: 100_000 });
    expect({ code, message }).toEqual({
      code: 'body_too_large',
      message: 'Line 2 has more than 100000 bytes, which is the limit for a line',
    });
  });
});

/** Sends a body to a server that spools at most so many bytes of it, and then another one over the same agent. */
async function spooled(bytesMax: number, bodies: readonly Buffer<ArrayBuffer>[]) {
  const spool = async (request: IncomingMessage) => {
    const file = await spoolBody(request, bytesMax);
    opened.push(file);
    return (await file.stat()).size;
  };
  const server = createServer((request, response) => {
    spool(request).then(
      (bytes) => response.end(String(bytes)),
      (error: unknown) => response.writeHead(413).end(error instanceof TooLargeError ? error.message : String(error)),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port');
  const answers: string[] = [];
  for (const body of bodies) {
    const response = await fetch(`http://127.0.0.1:${address.port}`, { method: 'POST', body });
    answers.push(await response.text());
  }
  server.closeAllConnections();
  server.close();
  return answers;
}

test('a body may have as many bytes as the bound as it is sent, and is refused with an answer beyond it', async () => {
  const [whole, refused, next] = await spooled(
    100_000,
    [100_000, 1_000_000, 10].map((bytes) => Buffer.alloc(bytes)),
  );
  expect([whole, next]).toEqual(['100000', '10']);
  expect(refused).toBe('An import may have at most 100000 bytes as sent. It may be compressed with gzip');
});

test('an import has its time, and is refused once it is up', () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const deadline = new Deadline(120_000);
  vi.advanceTimersByTime(120_000);
  expect(() => deadline.check()).not.toThrow();
  vi.advanceTimersByTime(1);
  expect(() => deadline.check()).toThrow(
    expect.objectContaining({
      code: 'body_too_large',
      message: expect.stringContaining('takes longer than the limit of 120 s'),
    }),
  );
});

test('a line with very many labels is refused for their number, not for each of their names', () => {
  const labels = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`Not a label ${index}`, 1]));
  const [created_at, updated_at] = ['2026-01-31T08:00:00.000Z', '2026-01-31T08:00:00.000Z'];
  const item = {
    record: 'part',
    slug: 'a',
    name: 'A',
    description: null,
    tags: [],
    versions: 1,
    created_at,
    updated_at,
  };
  const line = (given: object) => () => parseLine(Buffer.from(JSON.stringify({ ...item, labels: given })));
  expect(line(labels)).toThrow(/^labels: must have at most 50 labels$/);
  expect(line({ 'Not a label': 1 })).toThrow(/^labels\["Not a label"\]: /);
  expect(line({ live: 1 })()).toMatchObject({ labels: { live: 1 } });
});
