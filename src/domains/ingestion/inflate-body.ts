import { TooLargeError, UnavailableError } from '../../lib/errors.ts';
import { inflateBounded } from './otlp/inflate.ts';
import type { ContentCoding } from './otlp/media-type.ts';

/** Nearly every body inflates to less, so it needs no turn: this much memory, times the few that zlib's threads run at once. */
const smallBytesMax = 4 * 1024 * 1024;
const waitingMax = 16;

export type BodyInflater = (coding: ContentCoding, body: Buffer) => Promise<Buffer>;

/**
 * Inflates bodies within `inflatedBytesMax`. Those that turn out large take turns, one at a time, so that many small bombs sent
 * together cost the memory of one. Throws TooLargeError, MalformedError, and UnavailableError when too many wait.
 */
export function createBodyInflater(inflatedBytesMax: number): BodyInflater {
  let lastTurn: Promise<unknown> = Promise.resolve();
  let waiting = 0;

  async function inflateInTurn(coding: ContentCoding, body: Buffer): Promise<Buffer> {
    if (waiting >= waitingMax) {
      throw new UnavailableError(
        'ingest_unavailable',
        `${waitingMax} large bodies are waiting; send the spans again.`,
        {
          retryAfterS: 1,
        },
      );
    }
    waiting++;
    const turn = lastTurn.then(() => inflateBounded(coding, body, inflatedBytesMax));
    lastTurn = turn.catch(() => undefined);
    try {
      return await turn;
    } finally {
      waiting--;
    }
  }

  return async (coding, body) => {
    if (coding === 'identity') return body;
    if (inflatedBytesMax <= smallBytesMax) return inflateBounded(coding, body, inflatedBytesMax);
    try {
      return await inflateBounded(coding, body, smallBytesMax);
    } catch (error) {
      if (error instanceof TooLargeError) return inflateInTurn(coding, body);
      throw error;
    }
  };
}
