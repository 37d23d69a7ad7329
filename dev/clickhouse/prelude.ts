export interface Circumstances {
  database: string;
  settings: ReadonlyMap<string, string>;
  /** Bound `{name:Type}` parameters in the text form of ClickHouse. */
  params: ReadonlyMap<string, string>;
}

/**
 * A server takes parameters beside the statement, up to the size of a URL. Here they are part of a
 * statement, for which 256 KiB is the default limit.
 */
const queryBytesMax = 4 * 1024 * 1024;
const queryCharactersSafe = 64 * 1024;

/** Returns the statements that set the database, the settings and the bound parameters of a new connection. */
export function prelude({ database, settings, params }: Circumstances): string[] {
  const assignments = [
    ...[...settings].map(([name, value]) => assign(name, value)),
    ...[...params].map(([name, value]) => assign(`param_${name}`, withEscapedNul(value))),
  ];
  const characters = assignments.reduce((sum, { length }) => sum + length, 0);
  return [
    ...(database === 'default' ? [] : [`USE ${quoteIdentifier(database)}`]),
    ...(characters > queryCharactersSafe ? [`SET max_query_size = ${queryBytesMax}`] : []),
    ...(assignments.length === 0 ? [] : [`SET ${assignments.join(', ')}`]),
  ];
}

/** A ClickHouse string literal: https://clickhouse.com/docs/sql-reference/syntax#string */
export function quoteString(text: string): string {
  return `'${withEscapedNul(text.replace(/[\\']/g, '\\$&'))}'`;
}

function assign(name: string, value: string): string {
  return `${quoteIdentifier(name)} = ${quoteString(value)}`;
}

function quoteIdentifier(name: string): string {
  return `\`${name.replace(/[\\`]/g, '\\$&')}\``;
}

/** Escapes NUL, because a raw NUL would end the value of a literal or a parameter. */
function withEscapedNul(text: string): string {
  return text.replaceAll('\0', '\\0');
}
