import type { EventEmitter } from 'node:events';
import type { FileHandle } from 'node:fs/promises';
import { mkdtemp, open, rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MalformedError, TooLargeError, UnavailableError } from '../../../lib/errors.ts';

/** Bytes of all files of this process. Slow clients hold little of it, however many they are. */
const spooledBytesMax = 1024 * 1024 * 1024;
let spooledBytes = 0;

/**
 * Writes a request body as sent to a file that is already deleted: its space is freed when it is
 * closed or the process ends. So a slow client holds only a file.
 * @throws TooLargeError, MalformedError
 * @throws UnavailableError when all files together are too large, or the disk takes no more
 */
export async function spoolBody(req: IncomingMessage, bytesMax: number): Promise<FileHandle> {
  const file = await openNameless().catch(notStored);
  let bytes = 0;
  // It is an emitter (since Node 15.4), which its type does not say.
  (file as FileHandle & EventEmitter).once('close', () => {
    spooledBytes -= bytes;
  });
  try {
    // Stopping early must not destroy the connection, because the response is still to be sent.
    for await (const chunk of req.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      if (spooledBytes + chunk.length > spooledBytesMax) notStored();
      bytes += chunk.length;
      spooledBytes += chunk.length;
      if (bytes > bytesMax) {
        throw new TooLargeError(
          'body_too_large',
          `An import may have at most ${bytesMax} bytes as sent. It may be compressed with gzip`,
        );
      }
      await file.appendFile(chunk).catch(notStored);
    }
    return file;
  } catch (cause) {
    await file.close();
    if (cause instanceof TooLargeError || cause instanceof UnavailableError) throw cause;
    throw req.complete
      ? cause
      : new MalformedError('incomplete_body', 'The connection closed before the body was complete', { cause });
  } finally {
    req.resume();
  }
}

function notStored(cause?: unknown): never {
  throw new UnavailableError('server_busy', 'The server cannot store another import now. Try again in a moment.', {
    cause,
    retryAfterS: 5,
  });
}

async function openNameless(): Promise<FileHandle> {
  const directory = await mkdtemp(join(tmpdir(), 'promptlane-import-'));
  try {
    return await open(join(directory, 'body'), 'wx+', 0o600);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
