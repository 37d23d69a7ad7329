import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ReceivedBytes } from '../../../src/http/received-bytes.ts';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

test('chunks of any sizes are joined in their order', () => {
  const size = fc.oneof(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 0, max: 3_000 }));
  fc.assert(
    fc.property(fc.array(size, { maxLength: 300 }), (sizes) => {
      const received = new ReceivedBytes();
      const chunks = sizes.map((length, index) => Buffer.alloc(length, index));
      for (const chunk of chunks) received.add(chunk);
      expect(received.length).toBe(Buffer.concat(chunks).length);
      expect(received.join().equals(Buffer.concat(chunks))).toBe(true);
    }),
  );
});

test('a million chunks of one byte take little more than a million bytes', () => {
  const received = new ReceivedBytes();
  collectGarbage();
  const before = process.memoryUsage();
  for (let count = 0; count < 1_000_000; count++) received.add(Buffer.from([count % 251]));
  collectGarbage();
  const after = process.memoryUsage();
  const bytes = received.join();
  expect([bytes.length, bytes[0], bytes[250], bytes[251], bytes[999_999]]).toEqual([1e6, 0, 250, 0, 999_999 % 251]);
  expect(after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers).toBeLessThan(20e6);
});
