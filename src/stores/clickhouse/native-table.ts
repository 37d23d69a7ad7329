import { ByteWriter, bytesMax } from './byte-writer.ts';
import { inChunks } from './in-chunks.ts';
import type { Column, Stream } from './native-columns.ts';

/** Rows in columns, not yet a block: the bytes of every stream, one behind the other. */
export interface EncodedRows {
  rowCount: number;
  bytes: Buffer;
  /** Where each stream ends in `bytes`. */
  ends: Uint32Array;
}

const offsetBytes = 8;
const sizeBytes = 4;
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

  /**
   * One block of all the rows, in chunks of up to 1 MiB that are made as they are taken: long values are sent as they lie in `parts`,
   * which so must not change meanwhile. Blocks that are sent at the same time share nothing.
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

/** The format wants the running count of elements over the whole block. */
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
