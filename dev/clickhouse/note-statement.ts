import { appendFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import type { Statement } from './read-statement.ts';
import { header, type QueryRequest } from './request.ts';

/** File to which every statement is appended as a line of JSON. Tests set it to check the statements of the product. */
export const STATEMENT_LOG_VARIABLE = 'PROMPTLANE_CLICKHOUSE_STATEMENT_LOG';

const VALUE_CHARACTERS_MAX = 2_000;

/** Writes the user (the name before the password), the statement and its parameters. */
export function noteStatement(request: IncomingMessage, { params }: QueryRequest, statement: Statement): void {
  const file = process.env[STATEMENT_LOG_VARIABLE];
  if (file === undefined) return;
  const [, encoded = ''] = (header(request, 'authorization') ?? '').split(' ');
  const [user] = Buffer.from(encoded, 'base64').toString('utf8').split(':');
  const text = statement.kind === 'plain' ? statement.sql : statement.insert.beforeSource;
  const values = [...params.values()].map((value) => value.slice(0, VALUE_CHARACTERS_MAX));
  appendFileSync(file, `${JSON.stringify({ user, text, values })}\n`);
}
