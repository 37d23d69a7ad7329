import type { FileHandle } from 'node:fs/promises';
import { mkdtemp, open, rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MalformedError, TooLargeError } from '../../../lib/errors.ts';

/**
 * Writes a request body as sent to a file that is already deleted: its space is freed when it is
 * closed or the process ends. So a slow client holds only a file.
 * @throws TooLargeError, MalformedError
 */
export async function spoolBody(req: IncomingMessage, bytesMax: number): Promise<FileHandle> {
  const file = await openNameless();
  try {
    let bytes = 0;
    // Stopping early must not destroy the connection, because the response is still to be sent.
    for await (const chunk of req.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > bytesMax) {
        throw new TooLargeError(
          'body_too_large',
          `An import may have at most ${bytesMax} bytes as sent. It may be compressed with gzip`,
        );
      }
      await file.write(chunk);
    }
    return file;
  } catch (cause) {
    await file.close();
    if (cause instanceof TooLargeError) throw cause;
    throw req.complete
      ? cause
      : new MalformedError('incomplete_body', 'The connection closed before the body was complete', { cause });
  } finally {
    req.resume();
  }
}

async function openNameless(): Promise<FileHandle> {
  const directory = await mkdtemp(join(tmpdir(), 'promptlane-import-'));
  try {
    return await open(join(directory, 'body'), 'wx+', 0o600);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
