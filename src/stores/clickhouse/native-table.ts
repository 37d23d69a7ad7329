import { ByteWriter, bytesMax, rowsTooLarge } from './byte-writer.ts';
import { inChunks } from './in-chunks.ts';
import type { Column, Stream } from './native-columns.ts';

/** Encoded rows that are not a block yet: the bytes of all streams, concatenated. */
export interface EncodedRows {
  rowCount: number;
  bytes: Buffer;
  /** End offset of each stream in `bytes`. */
  ends: Uint32Array;
}

const offsetBytes = 8;
const sizeBytes = 4;
const countsBytesMax = 10;

/**
 * Encodes rows as blocks of ClickHouse's Native format
 * (clickhouse.com/docs/interfaces/formats/Native): the column and row counts, then name, type and
 * values of each column. Rows are encoded separately and combined later, because a block costs
 * ClickHouse as much as a hundred rows.
 */
export class NativeTable<Row> {
  /** Column names for the insert statement: `INSERT INTO t (names) FORMAT Native`. */
  readonly names: readonly string[];
  readonly #columns: readonly Column<Row>[];
  /** All streams. The first stream of a column has the head (name and type) of the column. */
  readonly #streams: readonly { head: Buffer; stream: Stream }[];

  /** Takes the columns in block order, by their names in the table. */
  constructor(columns: Readonly<Record<string, Column<Row>>>) {
    this.names = Object.keys(columns);
    this.#columns = Object.values(columns);
    this.#streams = Object.entries(columns).flatMap(([name, { type, streams }]) =>
      streams.map((stream, index) => ({ head: index === 0 ? headOf(name, type) : Buffer.alloc(0), stream })),
    );
  }

  /**
   * Encodes rows. The table holds nothing of them afterwards.
   * @throws TooLargeError when the rows need more than `bytesMax`
   */
  encode(rows: readonly Row[]): EncodedRows {
    try {
      for (const column of this.#columns) for (const row of rows) column.append(row);
      return this.#written(rows.length);
    } finally {
      for (const { stream } of this.#streams) stream.writer.reset();
    }
  }

  /** Returns what the columns have written. */
  #written(rowCount: number): EncodedRows {
    const parts = this.#streams.map(({ stream }) => stream.writer.bytes());
    const bytes = parts.reduce((sum, part) => sum + part.length, 0);
    if (bytes > bytesMax) throw rowsTooLarge(`not ${bytes}`);
    let end = 0;
    return {
      rowCount,
      bytes: Buffer.concat(parts),
      ends: Uint32Array.from(parts, (part) => (end += part.length)),
    };
  }

  /**
   * Returns one block of all rows as chunks of up to 1 MiB, made on demand. Long values are sent
   * from `parts` without a copy, so `parts` must not change meanwhile. Blocks sent at the same time
   * share no state.
   */
  block(parts: readonly EncodedRows[]): Generator<Buffer> {
    return inChunks(this.#pieces(parts));
  }

  *#pieces(parts: readonly EncodedRows[]): Generator<Buffer> {
    const rowCount = parts.reduce((sum, part) => sum + part.rowCount, 0);
    yield counts(this.#columns.length, rowCount);
    for (const [index, { head, stream }] of this.#streams.entries()) {
      yield head;
      const values = parts.map((part) => streamOf(part, index));
      if (stream.kind === 'sizes') yield offsetsOf(values, rowCount);
      else yield* values;
    }
  }
}

function streamOf(part: EncodedRows, index: number): Buffer {
  return part.bytes.subarray(index === 0 ? 0 : part.ends[index - 1], part.ends[index]);
}

/**
 * Converts sizes to offsets: the format requires the running element count over the whole block.
 */
function offsetsOf(sizes: readonly Buffer[], rowCount: number): Buffer {
  const offsets = Buffer.alloc(offsetBytes * rowCount);
  let elements = 0;
  let at = 0;
  for (const part of sizes) {
    for (let row = 0; row < part.length; row += sizeBytes) {
      elements += part.readUInt32LE(row);
      offsets.writeUInt32LE(elements, at);
      at += offsetBytes;
    }
  }
  return offsets;
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
