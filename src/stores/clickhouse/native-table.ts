import { ByteWriter, bytesMax } from './byte-writer.ts';
import type { Column, Stream } from './native-columns.ts';

/** Rows in columns, not yet a block: the bytes of every stream, one behind the other. */
export interface EncodedRows {
  rowCount: number;
  bytes: Buffer;
  /** Where each stream ends in `bytes`. */
  ends: Uint32Array;
}

const offsetBytes = 8;
const countsBytesMax = 10;

/**
 * Turns rows into blocks of ClickHouse's Native format (clickhouse.com/docs/interfaces/formats/Native): columns and rows as counts,
 * then for each column its name, its type and its values. Rows are encoded apart and put together later, because a block costs the
 * engine as much as a hundred rows.
 */
export class NativeTable<Row> {
  /** For the statement that takes the blocks: `INSERT INTO t (names) FORMAT Native`. */
  readonly names: readonly string[];
  readonly #columns: readonly Column<Row>[];
  #block = Buffer.alloc(0);
  /** Every stream with the head of its column before the first of them. */
  readonly #streams: readonly { head: Buffer; stream: Stream }[];

  /** The order of `columns` is that of the block; their names are those of the table. */
  constructor(columns: Readonly<Record<string, Column<Row>>>) {
    this.names = Object.keys(columns);
    this.#columns = Object.values(columns);
    this.#streams = Object.entries(columns).flatMap(([name, { type, streams }]) =>
      streams.map((stream, index) => ({ head: index === 0 ? headOf(name, type) : Buffer.alloc(0), stream })),
    );
  }

  /** Throws RangeError when the rows would take more than `bytesMax`. */
  encode(rows: readonly Row[]): EncodedRows {
    for (const { stream } of this.#streams) stream.writer.reset();
    for (const column of this.#columns) for (const row of rows) column.append(row);
    const parts = this.#streams.map(({ stream }) => stream.writer.bytes());
    const bytes = parts.reduce((sum, part) => sum + part.length, 0);
    if (bytes > bytesMax) throw new RangeError(`The rows of one body may hold ${bytesMax} bytes, not ${bytes}`);
    let end = 0;
    return {
      rowCount: rows.length,
      bytes: Buffer.concat(parts),
      ends: Uint32Array.from(parts, (part) => (end += part.length)),
    };
  }

  /** One block of all the rows. It is a view of a buffer that the next call writes over: there is one block at a time. */
  block(parts: readonly EncodedRows[]): Buffer {
    const rowCount = parts.reduce((sum, part) => sum + part.rowCount, 0);
    const bytesMax = this.#blockBytesMax(parts, rowCount);
    if (this.#block.length < bytesMax) this.#block = Buffer.allocUnsafeSlow(bytesMax);
    const block = this.#block;
    let at = counts(this.#columns.length, rowCount).copy(block);
    this.#streams.forEach(({ head, stream }, index) => {
      at += head.copy(block, at);
      at = stream.kind === 'sizes' ? writeOffsets(block, at, parts, index) : writeValues(block, at, parts, index);
    });
    return block.subarray(0, at);
  }

  #blockBytesMax(parts: readonly EncodedRows[], rowCount: number): number {
    let bytes = countsBytesMax;
    for (const { head, stream } of this.#streams)
      bytes += head.length + (stream.kind === 'sizes' ? offsetBytes * rowCount : 0);
    for (const part of parts) bytes += part.bytes.length;
    return bytes;
  }
}

function streamOf(part: EncodedRows, index: number): Buffer {
  return part.bytes.subarray(index === 0 ? 0 : part.ends[index - 1], part.ends[index]);
}

function writeValues(block: Buffer, start: number, parts: readonly EncodedRows[], index: number): number {
  let at = start;
  for (const part of parts) at += streamOf(part, index).copy(block, at);
  return at;
}

/** The format wants the running count of elements over the whole block. */
function writeOffsets(block: Buffer, start: number, parts: readonly EncodedRows[], index: number): number {
  let at = start;
  let elements = 0;
  for (const part of parts) {
    const sizes = streamOf(part, index);
    for (let row = 0; row < part.rowCount; row++) {
      elements += sizes.readUInt32LE(row * 4);
      at = block.writeUInt32LE(elements, at);
      at = block.writeUInt32LE(0, at);
    }
  }
  return at;
}

function counts(columns: number, rows: number): Buffer {
  const writer = new ByteWriter(countsBytesMax);
  writer.count(columns);
  writer.count(rows);
  return writer.bytes();
}

function headOf(name: string, type: string): Buffer {
  const writer = new ByteWriter(128);
  writer.string(name);
  writer.string(type);
  return writer.bytes();
}
