import { createReadStream, existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import pg from 'pg';
import type { Heard } from './rules.ts';

const parametersMax = 400;
/** Every entry begins like this. Continued lines begin with a tab. */
const entry = /^~~(\d+) (LOG|DETAIL): {2}(.*)$/s;
const statementOf = /^(?:execute [^:]*|statement): (.*)$/s;

/**
 * Makes Postgres log every statement of one user with its bound values. This applies only to
 * sessions that begin later.
 */
export async function hearStatements(ownerUrl: string, user: string): Promise<void> {
  const client = new pg.Client({ connectionString: ownerUrl });
  await client.connect();
  try {
    await client.query(`alter role ${user} set log_statement = 'all'`);
    await client.query(`alter role ${user} set log_parameter_max_length = ${parametersMax}`);
    await client.query(`alter system set log_line_prefix = '~~%p '`);
    await client.query('select pg_reload_conf()');
  } finally {
    await client.end();
  }
}

/** Returns the statements in a log of Postgres, in the order in which they ended. */
export async function* postgresStatements(file: string): AsyncGenerator<Heard> {
  const open = new Map<string, Heard>();
  for await (const text of entriesOf(file)) {
    const [, pid = '', kind, message = ''] = entry.exec(text) ?? [];
    if (kind === 'DETAIL') {
      const heard = open.get(pid);
      if (heard !== undefined) heard.values = message;
      continue;
    }
    const before = open.get(pid);
    if (before !== undefined) yield before;
    open.delete(pid);
    const statement = statementOf.exec(message)?.[1];
    if (statement !== undefined) open.set(pid, { engine: 'postgres', text: statement, values: '' });
  }
  yield* open.values();
}

/** Returns the statements that one user sent to the embedded ClickHouse. */
export async function* clickhouseStatements(file: string, user: string): AsyncGenerator<Heard> {
  if (!existsSync(file)) return;
  for await (const line of createInterface({ input: createReadStream(file) })) {
    const noted: { user: string; text: string; values: string[] } = JSON.parse(line);
    if (noted.user === user) yield { engine: 'clickhouse', text: noted.text, values: noted.values.join('\n') };
  }
}

async function* entriesOf(file: string): AsyncGenerator<string> {
  let text = '';
  for await (const line of createInterface({ input: createReadStream(file) })) {
    if (line.startsWith('\t')) text += `\n${line.slice(1)}`;
    else {
      if (text !== '') yield text;
      text = line;
    }
  }
  if (text !== '') yield text;
}
