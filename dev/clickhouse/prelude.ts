export interface Circumstances {
  database: string;
  settings: ReadonlyMap<string, string>;
  /** Bound `{name:Type}` parameters in ClickHouse's text form. */
  params: ReadonlyMap<string, string>;
}

/** The statements that give a fresh connection its database, its settings and its bound parameters. */
export function prelude({ database, settings, params }: Circumstances): string[] {
  const assignments = [
    ...[...settings].map(([name, value]) => assign(name, value)),
    ...[...params].map(([name, value]) => assign(`param_${name}`, withEscapedNul(value))),
  ];
  return [
    ...(database === 'default' ? [] : [`USE ${quoteIdentifier(database)}`]),
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

/** A raw NUL would end the value: a literal's in the parser, a parameter's in its text form. */
function withEscapedNul(text: string): string {
  return text.replaceAll('\0', '\\0');
}
