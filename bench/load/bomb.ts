import { Readable } from 'node:stream';
import { createGzip } from 'node:zlib';

const chunkBytes = 1024 * 1024;

/** Compresses `bytes` zeros with gzip to about a thousandth of their size. A stream needs no memory for the zeros. */
export async function createBomb(inflatedBytes: number): Promise<Buffer> {
  const zeros = Buffer.alloc(chunkBytes);
  const source = Readable.from(
    (function* () {
      for (let left = inflatedBytes; left > 0; left -= chunkBytes) yield zeros.subarray(0, left);
    })(),
  );
  const chunks: Buffer[] = [];
  for await (const chunk of source.pipe(createGzip({ level: 9 }))) chunks.push(chunk);
  return Buffer.concat(chunks);
}
