import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';

const WRITE_BUFFER_BYTES = 1024 * 1024;

/** Keeps rows in a file while `use` runs. @throws the error of the stream of rows; `use` is then not called */
export async function withSpooledRows<T>(
  directory: string,
  rows: AsyncIterable<Uint8Array>,
  use: (path: string) => Promise<T>,
): Promise<T> {
  const path = join(directory, randomUUID());
  try {
    await pipeline(rows, createWriteStream(path, { highWaterMark: WRITE_BUFFER_BYTES }));
    return await use(path);
  } finally {
    await rm(path, { force: true });
  }
}
