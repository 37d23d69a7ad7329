/** One chunk is handed to the socket at a time, and the event loop goes on when the socket is full. */
const chunkBytesMax = 1024 * 1024;
/** What is shorter is copied together: a chunk of its own costs more than the copy. */
const gatheredBytesMax = 64 * 1024;
const gatherBytes = 256 * 1024;

/** The bytes of `pieces` in their order: short pieces are copied together, long ones passed on as they are, in slices of up to 1 MiB. */
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
