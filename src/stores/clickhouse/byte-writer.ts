/**
 * Writes the values of ClickHouse's binary formats into one growing buffer: integers little-endian, strings with a LEB128 length
 * (clickhouse.com/docs/interfaces/formats/Native). The bytes of a value are copied once.
 */
export class ByteWriter {
  #buffer: Buffer;
  #length = 0;

  constructor(initialBytes = 1024) {
    this.#buffer = Buffer.allocUnsafe(initialBytes);
  }

  /** What was written so far, as a view: valid until the next write or {@link reset}. */
  bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  reset(): void {
    this.#length = 0;
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
    this.#length = this.#buffer.writeUInt16LE(value, this.#length);
  }

  uint32(value: number): void {
    this.#reserve(4);
    this.#length = this.#buffer.writeUInt32LE(value, this.#length);
  }

  int32(value: number): void {
    this.#reserve(4);
    this.#length = this.#buffer.writeInt32LE(value, this.#length);
  }

  uint64(value: bigint): void {
    this.#reserve(8);
    this.#length = this.#buffer.writeBigUInt64LE(value, this.#length);
  }

  int64(value: bigint): void {
    this.#reserve(8);
    this.#length = this.#buffer.writeBigInt64LE(value, this.#length);
  }

  float64(value: number): void {
    this.#reserve(8);
    this.#length = this.#buffer.writeDoubleLE(value, this.#length);
  }

  /** DateTime64(3) from milliseconds since the epoch. */
  dateTimeMs(ms: number): void {
    this.int64(BigInt(ms));
  }

  /** FixedString(`bytes`) from hex; an empty text is all zero. */
  fixedHex(hex: string, bytes: number): void {
    this.#reserve(bytes);
    if (hex === '') this.#buffer.fill(0, this.#length, this.#length + bytes);
    else this.#buffer.write(hex, this.#length, bytes, 'hex');
    this.#length += bytes;
  }

  string(value: string): void {
    // Three bytes a UTF-16 unit is the most that UTF-8 needs, five the longest length prefix.
    this.#reserve(value.length * 3 + 5);
    if (value.length <= 42) {
      // At most 126 bytes: the prefix is one byte, so the text can be written before its length is known.
      const written = this.#buffer.write(value, this.#length + 1);
      this.#buffer[this.#length] = written;
      this.#length += written + 1;
      return;
    }
    this.#varint(Buffer.byteLength(value));
    this.#length += this.#buffer.write(value, this.#length);
  }

  /** A length as it precedes strings and blocks. */
  count(length: number): void {
    this.#reserve(5);
    this.#varint(length);
  }

  #varint(value: number): void {
    let rest = value;
    while (rest >= 0x80) {
      this.#buffer[this.#length++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.#buffer[this.#length++] = rest;
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafe(Math.max(needed, this.#buffer.length * 2));
    this.#buffer.copy(grown, 0, 0, this.#length);
    this.#buffer = grown;
  }
}
