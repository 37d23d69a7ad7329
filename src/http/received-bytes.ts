/** Smaller chunks are copied. The object of a chunk takes 250 bytes. */
export const smallBytesMax = 1_024;
/** Chunks that are kept as they are, however small. Most bodies have fewer. */
const keptMax = 16;
const blockBytesMax = 64 * 1_024;

/**
 * The bytes of a body as they arrive. Small chunks are copied into blocks, because a client can send each byte in
 * a chunk of its own (RFC 9112, 7.1), so that 1 MiB would take 250 MiB.
 */
export class ReceivedBytes {
  #pieces: Buffer[] = [];
  #length = 0;
  #block = Buffer.alloc(0);
  /** Where the copies begin and end that are not yet a piece. */
  #start = 0;
  #end = 0;

  get length(): number {
    return this.#length;
  }

  add(chunk: Buffer): void {
    this.#length += chunk.length;
    if (this.#pieces.length < keptMax || chunk.length >= smallBytesMax) {
      this.#endPiece();
      this.#pieces.push(chunk);
      return;
    }
    if (chunk.length > this.#block.length - this.#end) {
      this.#endPiece();
      this.#block = Buffer.allocUnsafeSlow(Math.min(blockBytesMax, Math.max(smallBytesMax, 2 * this.#block.length)));
      this.#start = 0;
      this.#end = 0;
    }
    this.#end += chunk.copy(this.#block, this.#end);
  }

  /** Returns all bytes. */
  join(): Buffer {
    this.#endPiece();
    return Buffer.concat(this.#pieces, this.#length);
  }

  clear(): void {
    this.#pieces = [];
    this.#block = Buffer.alloc(0);
    this.#start = 0;
    this.#end = 0;
  }

  #endPiece(): void {
    if (this.#end > this.#start) this.#pieces.push(this.#block.subarray(this.#start, this.#end));
    this.#start = this.#end;
  }
}
