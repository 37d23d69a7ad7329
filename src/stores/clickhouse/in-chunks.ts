/** The socket gets one chunk at a time. When the socket is full, the event loop continues. */
const chunkBytesMax = 1024 * 1024;
/** Shorter pieces are copied together, because a separate chunk costs more than the copy. */
const gatheredBytesMax = 64 * 1024;
const gatherBytes = 256 * 1024;

/**
 * Yields the bytes of `pieces` in order. Short pieces are copied together. Long pieces are not
 * copied, only sliced into chunks of up to 1 MiB.
 */
export function* inChunks(pieces: Iterable<Buffer>): Generator<Buffer> {
  let gathered = Buffer.allocUnsafeSlow(gatherBytes);
  let length = 0;
  for (const piece of pieces) {
    const isLong = piece.length > gatheredBytesMax;
    if (length > 0 && (isLong || length + piece.length > gatherBytes)) {
      yield gathered.subarray(0, length);
      gathered = Buffer.allocUnsafeSlow(gatherBytes);
      length = 0;
    }
    if (isLong) yield* slicesOf(piece);
    else length += piece.copy(gathered, length);
  }
  if (length > 0) yield gathered.subarray(0, length);
}

function* slicesOf(piece: Buffer): Generator<Buffer> {
  for (let start = 0; start < piece.length; start += chunkBytesMax) yield piece.subarray(start, start + chunkBytesMax);
}
