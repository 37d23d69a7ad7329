import { ByteWriter } from './byte-writer.ts';

/**
 * A column of a block under construction. `type` is the type of the bytes; ClickHouse converts it
 * to the type of the table.
 */
export interface Column<Row> {
  type: string;
  append(row: Row): void;
  /** In the order of the format. */
  streams: readonly Stream[];
}

/**
 * The bytes that a column has written since the last reset. `sizes` holds a 32-bit element count
 * per row.
 */
export interface Stream {
  kind: 'values' | 'sizes';
  writer: ByteWriter;
}

type Write<Value> = (writer: ByteWriter, value: Value) => void;

/**
 * The writer and the name of a plain type. LowCardinality columns are sent as strings, enums as
 * numbers.
 */
export interface Scalar<Value> {
  type: string;
  write: Write<Value>;
}

export const text: Scalar<string> = { type: 'String', write: (writer, value) => writer.string(value) };
export const bool: Scalar<boolean> = { type: 'Bool', write: (writer, value) => writer.bool(value) };
export const int8: Scalar<number> = { type: 'Int8', write: (writer, value) => writer.uint8(value) };
export const uint16: Scalar<number> = { type: 'UInt16', write: (writer, value) => writer.uint16(value) };
export const uint32: Scalar<number> = { type: 'UInt32', write: (writer, value) => writer.uint32(value) };
export const int32: Scalar<number> = { type: 'Int32', write: (writer, value) => writer.int32(value) };
/** A whole number up to 2^53, for UInt64 columns. */
export const uint53: Scalar<number> = { type: 'UInt64', write: (writer, value) => writer.uint53(value) };
export const uint64: Scalar<bigint> = { type: 'UInt64', write: (writer, value) => writer.int64(value) };
export const int64: Scalar<bigint> = { type: 'Int64', write: (writer, value) => writer.int64(value) };
export const float64: Scalar<number> = { type: 'Float64', write: (writer, value) => writer.float64(value) };
/** From milliseconds since the epoch. */
export const dateTimeMs: Scalar<number> = {
  type: "DateTime64(3, 'UTC')",
  write: (writer, value) => writer.uint53(value),
};
/** From lowercase hex; '' becomes all zeros. */
export const hex = (bytes: number): Scalar<string> => ({
  type: `FixedString(${bytes})`,
  write: (writer, value) => writer.fixedHex(value, bytes),
});

/** Builds a column of a plain type from the value that `read` returns for each row. */
export function column<Row, Value>(scalar: Scalar<Value>, read: (row: Row) => Value): Column<Row> {
  const values = new ByteWriter();
  const { type, write } = scalar;
  return { type, streams: [{ kind: 'values', writer: values }], append: (row) => write(values, read(row)) };
}

/**
 * Builds a Nullable column: one null flag byte per row, then one value per row. `absent` is the
 * value of a null row.
 */
export function nullable<Row, Value>(
  scalar: Scalar<Value>,
  absent: Value,
  read: (row: Row) => Value | null,
): Column<Row> {
  const nulls = new ByteWriter();
  const values = new ByteWriter();
  return {
    type: `Nullable(${scalar.type})`,
    streams: [
      { kind: 'values', writer: nulls },
      { kind: 'values', writer: values },
    ],
    append(row) {
      const value = read(row);
      nulls.bool(value === null);
      scalar.write(values, value ?? absent);
    },
  };
}

/**
 * Builds an Array column, of tuples if there are several fields: the sizes, then the elements of
 * each field.
 */
export function array<Row, Item>(
  fields: readonly ArrayField<Item>[],
  read: (row: Row) => readonly Item[],
): Column<Row> {
  const sizes = new ByteWriter();
  const parts = fields.map((part) => ({ part, values: new ByteWriter() }));
  const types = fields.map(({ type }) => type);
  return {
    type: types.length === 1 ? `Array(${types[0]})` : `Array(Tuple(${types.join(', ')}))`,
    streams: [
      { kind: 'sizes', writer: sizes },
      ...parts.map(({ values }): Stream => ({ kind: 'values', writer: values })),
    ],
    append(row) {
      const items = read(row);
      sizes.uint32(items.length);
      for (const { part, values } of parts) for (const item of items) part.write(values, item);
    },
  };
}

export interface ArrayField<Item> {
  type: string;
  write: Write<Item>;
}

/** Builds a field of an array of tuples from the value that `read` returns for each item. */
export function field<Item, Value>(scalar: Scalar<Value>, read: (item: Item) => Value): ArrayField<Item> {
  return { type: scalar.type, write: (writer, item) => scalar.write(writer, read(item)) };
}

export const texts: readonly ArrayField<string>[] = [text];

/** Keys and values of a map, as parallel arrays. */
export interface Entries<Value> {
  keys: readonly string[];
  values: readonly Value[];
}

/** Builds a Map(String, …) column. */
export function mapOf<Row, Value>(scalar: Scalar<Value>, read: (row: Row) => Entries<Value>): Column<Row> {
  const sizes = new ByteWriter();
  const keyWriter = new ByteWriter();
  const valueWriter = new ByteWriter();
  return {
    type: `Map(String, ${scalar.type})`,
    streams: [
      { kind: 'sizes', writer: sizes },
      { kind: 'values', writer: keyWriter },
      { kind: 'values', writer: valueWriter },
    ],
    append(row) {
      const { keys, values } = read(row);
      sizes.uint32(keys.length);
      for (const key of keys) keyWriter.string(key);
      for (const value of values) scalar.write(valueWriter, value);
    },
  };
}
