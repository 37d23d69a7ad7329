import { Piscina } from 'piscina';
import { expect, test } from 'vitest';
import type { EncodedInThread } from '../../../src/domains/ingestion/store/encode-thread.ts';

test('what a thread encodes is moved to the worker and not copied, and arrives as it was', async () => {
  const filename = new URL('../../support/handing-over-thread.ts', import.meta.url).href;
  const thread = new Piscina({ filename, name: 'give', minThreads: 1, maxThreads: 1 });
  const give = (bytes: number): Promise<EncodedInThread> => thread.run(bytes);
  const left = () => thread.run(undefined, { name: 'left' });
  try {
    const { rows, lightChunks } = await give(1_000_000);
    expect(Buffer.from(rows.bytes).equals(Buffer.alloc(1_000_000, 'x'))).toBe(true);
    expect(lightChunks.map(({ length }) => length)).toEqual([1_000]);
    expect(await left()).toEqual([0, 0]);
    // Few bytes are copied out of a buffer that others use as well.
    expect(Buffer.from((await give(10)).rows.bytes).toString()).toBe('x'.repeat(10));
  } finally {
    await thread.destroy();
  }
});
