import { within } from '../../lib/within.ts';
import type { Logger } from '../../telemetry/logger.ts';
import { idleInTransactionMsMax, type Postgres, statementMsMax } from './client.ts';
import { scramVerifier } from './scram-verifier.ts';

const hintTimeoutMs = 500;

/** SQLSTATE insufficient_privilege. */
const notAllowed = '42501';
/**
 * SQLSTATEs duplicate_object, and unique_violation if another transaction ended while ours waited
 * for it.
 */
const madeByOthers: readonly unknown[] = ['42710', '23505'];

/**
 * Creates the user that the service connects as. It can only read and write rows, so an injected
 * statement cannot change tables, functions or audit entries. Call it after every migration, to
 * grant new tables. If the migrating user may not create users, the user must already exist.
 * @throws Error when the URL has no user or no password
 */
export async function putServiceUser(postgres: Postgres, serviceUrl: string): Promise<void> {
  const { username, password } = new URL(serviceUrl);
  if (username === '' || password === '') throw new Error('DATABASE_URL must name a user and a password');
  const [user, secret] = [decodeURIComponent(username), decodeURIComponent(password)];
  await putUser(postgres, user, secret);
  for (const grant of grants) await run(postgres, grant, user);
}

/** Settings of the service user, in milliseconds. */
const limits = Object.entries({
  statement_timeout: statementMsMax,
  idle_in_transaction_session_timeout: idleInTransactionMsMax,
});

/**
 * Limits the time of each statement of the user of a URL in this database, and that of a transaction between two statements. It is a setting of the user, because a
 * pooler refuses it as a parameter of a connection (PgBouncer: "unsupported startup parameter"). If the migrating
 * user may not change the other one, nothing is limited.
 */
export async function limitStatements(postgres: Postgres, url: string): Promise<void> {
  const user = decodeURIComponent(new URL(url).username);
  const { rows } = await postgres.raw<{ rows: { database: string; self: string }[] }>(
    'select current_database() as database, current_user as self',
  );
  const [{ database, self } = { database: '', self: '' }] = rows;
  for (const [setting, ms] of limits) {
    const statement = `alter role %I in database %I set ${setting} = ${ms}`;
    await run(postgres, statement, user || self, database).catch(ignoreDenied);
  }
}

/** Run in this order. `%I` is the user. */
const grants = [
  'revoke create on schema public from public',
  'grant usage on schema public to %I',
  'grant select, insert, update, delete on all tables in schema public to %I',
  'grant usage on all sequences in schema public to %I',
  'revoke all on knex_migrations, knex_migrations_lock from %I',
  // Triggers record changes; maintenance deletes old ones.
  'revoke insert, update on changes from %I',
  'revoke update, delete on audit_log from %I',
];

/**
 * Logs a warning at the start if the service connects as the table owner. That works, but is less
 * protected. Never throws.
 */
export async function hintIfOwner(postgres: Postgres, logger: Logger): Promise<void> {
  if (!(await within(hintTimeoutMs, () => ownsTables(postgres)).catch(() => false))) return;
  logger.warn(
    'DATABASE_URL names the owner of the tables; set DATABASE_MIGRATE_URL to it and DATABASE_URL to another user',
  );
}

/**
 * Logs a warning at the start for each time of the service that nothing limits, because the migrations were not allowed
 * to set it. Never throws.
 */
export async function hintIfUnlimited(postgres: Postgres, logger: Logger): Promise<void> {
  for (const [setting, ms] of limits) {
    const shown = await within(hintTimeoutMs, () => postgres.raw(`show ${setting}`)).catch(() => undefined);
    if (shown?.rows[0]?.[setting] !== '0') continue;
    logger.warn(`The user of DATABASE_URL has no ${setting}; run: ALTER ROLE ... SET ${setting} = ${ms}`);
  }
}

/** Returns whether the connection can change the schema because its user owns the tables. */
export async function ownsTables(postgres: Postgres): Promise<boolean> {
  const { rows } = await postgres.raw<{ rows: { owns: boolean }[] }>(
    `select pg_has_role(current_user, tableowner::name, 'usage') as owns from pg_tables
     where schemaname = 'public' and tablename = 'workspaces'`,
  );
  return rows[0]?.owns ?? false;
}

async function putUser(postgres: Postgres, user: string, password: string): Promise<void> {
  // Postgres logs the full text of a failed statement, so no statement contains the password.
  const verifier = scramVerifier(password);
  if (!(await userExists(postgres, user)) && (await makeUser(postgres, user, verifier))) return;
  // The service may have no right to change a user that another owner created.
  await run(postgres, 'alter role %I password %L', user, verifier).catch(ignoreDenied);
}

function ignoreDenied(error: unknown): void {
  if (codeOf(error) !== notAllowed) throw error;
}

async function userExists(postgres: Postgres, user: string): Promise<boolean> {
  const { rows } = await postgres.raw<{ rows: unknown[] }>('select 1 from pg_roles where rolname = ?', [user]);
  return rows.length > 0;
}

/** Returns false if another process created the user at the same time. */
async function makeUser(postgres: Postgres, user: string, verifier: string): Promise<boolean> {
  const rights = 'login nosuperuser nocreatedb nocreaterole nobypassrls password %L';
  try {
    await run(postgres, `create role %I ${rights}`, user, verifier);
    return true;
  } catch (error) {
    if (!madeByOthers.includes(codeOf(error))) throw error;
    return false;
  }
}

/**
 * Statements about users take no bound values, so Postgres itself formats the names into the text.
 */
async function run(postgres: Postgres, template: string, ...values: readonly string[]): Promise<void> {
  const { rows } = await postgres.raw<{ rows: { statement: string }[] }>(
    `select format(?::text, variadic ?::text[]) as statement`,
    [template, [...values]],
  );
  await postgres.raw((rows[0]?.statement ?? '').replaceAll('?', '\\?'));
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
