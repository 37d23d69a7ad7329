import { TooLargeError } from '../../lib/errors.ts';

/**
 * Enough for any body whose rows are about as large as the body, and for a value that all spans
 * share and that is written once per span: the API refuses a body whose rows would repeat more than
 * half of it (`repeatedBytesMax` of OTLP).
 */
export const bytesMax = 256 * 1024 * 1024;

/** Returns the error for a body whose rows have more than {@link bytesMax}. */
export function rowsTooLarge(found: string): TooLargeError {
  return new TooLargeError('body_too_large', `The rows of one body may have at most ${bytesMax} bytes; ${found}`);
}

/** A buffer that is larger is not kept when its writer is reset. A column of an ordinary block needs far less. */
const keptBytesMax = 1024 * 1024;

/** Up to this length a loop over the characters is faster than a call into the runtime. */
const shortCharactersMax = 40;

/**
 * Writes values of ClickHouse's binary formats into one growing buffer: integers little-endian,
 * strings with a LEB128 length (clickhouse.com/docs/interfaces/formats/Native). Each span causes
 * some eighty writes, so the class avoids calls and big integers.
 */
export class ByteWriter {
  readonly #initialBytes: number;
  #buffer: Buffer;
  #view: DataView;
  #length = 0;
  /**
   * The last string and its position. Columns repeat values, and copying is cheaper than encoding.
   */
  #last = '';
  #lastStart = 0;
  #lastEnd = 0;

  constructor(initialBytes = 1024) {
    this.#initialBytes = initialBytes;
    this.#buffer = Buffer.allocUnsafeSlow(initialBytes);
    this.#view = viewOf(this.#buffer);
  }

  /**
   * Returns the bytes written so far as a view. It is valid until the next write or {@link reset}.
   */
  bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  /** Forgets what was written. A large buffer is released, so that no writer keeps the size of its largest body. */
  reset(): void {
    this.#length = 0;
    this.#last = '';
    if (this.#buffer.length <= keptBytesMax) return;
    this.#buffer = Buffer.allocUnsafeSlow(this.#initialBytes);
    this.#view = viewOf(this.#buffer);
  }

  uint8(value: number): void {
    this.#reserve(1);
    this.#buffer[this.#length++] = value;
  }

  bool(value: boolean): void {
    this.uint8(value ? 1 : 0);
  }

  uint16(value: number): void {
    this.#reserve(2);
    this.#view.setUint16(this.#length, value, true);
    this.#length += 2;
  }

  uint32(value: number): void {
    this.#reserve(4);
    this.#view.setUint32(this.#length, value, true);
    this.#length += 4;
  }

  int32(value: number): void {
    this.uint32(value);
  }

  /** Writes the lowest 64 bits, signed or unsigned. */
  int64(value: bigint): void {
    this.#reserve(8);
    this.#view.setBigUint64(this.#length, value, true);
    this.#length += 8;
  }

  /** Writes a whole number from 0 to 2^53 in 64 bits. */
  uint53(value: number): void {
    this.#reserve(8);
    this.#view.setUint32(this.#length, value, true);
    this.#view.setUint32(this.#length + 4, Math.floor(value / 0x1_0000_0000), true);
    this.#length += 8;
  }

  float64(value: number): void {
    this.#reserve(8);
    this.#view.setFloat64(this.#length, value, true);
    this.#length += 8;
  }

  /** Writes FixedString(`bytes`) from hex. An empty text becomes all zeros. */
  fixedHex(hex: string, bytes: number): void {
    this.#reserve(bytes);
    if (hex === '') this.#buffer.fill(0, this.#length, this.#length + bytes);
    else this.#buffer.write(hex, this.#length, bytes, 'hex');
    this.#length += bytes;
  }

  string(value: string): void {
    // UTF-8 needs at most 3 bytes per UTF-16 unit; the longest length prefix has 5 bytes.
    const mostBytes = value.length * 3 + 5;
    this.#reserve(this.#length + mostBytes <= bytesMax ? mostBytes : Buffer.byteLength(value) + 5);
    if (value === '') {
      this.#buffer[this.#length++] = 0;
      return;
    }
    if (value === this.#last) this.#copyLast();
    else if (value.length > shortCharactersMax || !this.#shortAscii(value)) this.#encode(value);
  }

  /** Writes a length, as it precedes strings and blocks. */
  count(length: number): void {
    this.#reserve(5);
    this.#length = this.#varint(length, this.#length);
  }

  #copyLast(): void {
    this.#buffer.copyWithin(this.#length, this.#lastStart, this.#lastEnd);
    this.#length += this.#lastEnd - this.#lastStart;
  }

  /** Returns false and writes nothing if a character is not ASCII. */
  #shortAscii(value: string): boolean {
    const buffer = this.#buffer;
    let at = this.#length;
    buffer[at++] = value.length;
    for (let i = 0; i < value.length; i++) {
      const code = value.charCodeAt(i);
      if (code > 0x7f) return false;
      buffer[at++] = code;
    }
    this.#remember(value, at);
    return true;
  }

  /** Reserves the length prefix as for ASCII. Moves the text if the real prefix is longer. */
  #encode(value: string): void {
    const prefixBytes = varintBytes(value.length);
    const textStart = this.#length + prefixBytes;
    const textBytes = this.#buffer.write(value, textStart);
    const moved = varintBytes(textBytes) - prefixBytes;
    if (moved > 0) this.#buffer.copyWithin(textStart + moved, textStart, textStart + textBytes);
    this.#varint(textBytes, this.#length);
    this.#remember(value, textStart + moved + textBytes);
  }

  #remember(value: string, end: number): void {
    this.#last = value;
    this.#lastStart = this.#length;
    this.#lastEnd = end;
    this.#length = end;
  }

  #varint(value: number, start: number): number {
    let at = start;
    let rest = value;
    while (rest >= 0x80) {
      this.#buffer[at++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.#buffer[at++] = rest;
    return at;
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#buffer.length) return;
    if (needed > bytesMax) throw rowsTooLarge('one column has more');
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, this.#buffer.length * 2));
    this.#buffer.copy(grown, 0, 0, this.#length);
    this.#buffer = grown;
    this.#view = viewOf(grown);
  }
}

function varintBytes(value: number): number {
  let bytes = 1;
  for (let rest = value; rest >= 0x80; rest >>>= 7) bytes++;
  return bytes;
}

function viewOf(buffer: Buffer): DataView {
  return new DataView(buffer.buffer, buffer.byteOffset, buffer.length);
}
