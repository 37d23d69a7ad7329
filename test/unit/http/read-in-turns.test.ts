import { once } from 'node:events';
import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { readInTurns } from '../../../src/http/read-in-turns.ts';
import { oneTurn } from '../../../src/lib/pace.ts';

const mebibyte = 1024 * 1024;
const chunkBytes = 64 * 1024;

/** A stream of a mebibyte, all of which is there at once. */
const full = () =>
  Readable.from(
    Array.from({ length: 16 }, () => Buffer.alloc(chunkBytes)),
    { objectMode: false, highWaterMark: mebibyte },
  );

/** Reads the streams to their ends and returns the most bytes that one turn of the event loop read. */
async function mostBytesOfTurn(streams: readonly Readable[]): Promise<number> {
  let [bytes, most] = [0, 0];
  await oneTurn();
  for (const stream of streams) {
    readInTurns(stream, oneTurn);
    stream.on('data', (chunk: Buffer) => {
      if (bytes === 0) {
        setImmediate(() => {
          bytes = 0;
        });
      }
      bytes += chunk.length;
      most = Math.max(most, bytes);
    });
  }
  await Promise.all(streams.map((stream) => once(stream, 'end')));
  return most;
}

test('forty streams that have a mebibyte each are read over many turns, and all of them to the end', async () => {
  const most = await mostBytesOfTurn(Array.from({ length: 40 }, full));
  // After the first mebibyte, each stream still passes on the chunk with which it learns of the pause.
  expect(most).toBeLessThanOrEqual(mebibyte + 40 * chunkBytes);
});

test('one stream of a mebibyte is read in one turn', async () => {
  expect(await mostBytesOfTurn([full()])).toBe(mebibyte);
});
