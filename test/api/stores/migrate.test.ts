import { execFile } from 'node:child_process';
import { afterAll, describe, expect, inject, test } from 'vitest';
import { type ClickHouse, connectClickHouse } from '../../../src/stores/clickhouse/client.ts';
import { connectPostgres, type Postgres } from '../../../src/stores/postgres/client.ts';

/** A database of a test's own in each engine. */
interface Stores {
  databaseUrl: string;
  clickhouseUrl: string;
  postgres: Postgres;
  clickhouse: ClickHouse;
}

const owner = connectPostgres(inject('databaseUrl'), 1);
const engine = connectClickHouse(inject('clickhouseUrl'));
const opened: Stores[] = [];
afterAll(async () => {
  for (const { postgres, clickhouse } of opened) await Promise.all([postgres.destroy(), clickhouse.close()]);
  await Promise.all([owner.destroy(), engine.close()]);
});

async function emptyStores(name: string): Promise<Stores> {
  await owner.raw('create database ??', [name]);
  await engine.command({ query: `CREATE DATABASE ${name}` });
  const [databaseUrl, clickhouseUrl] = [withDatabase('databaseUrl', name), withDatabase('clickhouseUrl', name)];
  const stores = {
    ...{ databaseUrl, clickhouseUrl },
    postgres: connectPostgres(databaseUrl, 1),
    clickhouse: connectClickHouse(clickhouseUrl),
  };
  opened.push(stores);
  return stores;
}

function withDatabase(engineUrl: 'databaseUrl' | 'clickhouseUrl', name: string): string {
  const url = new URL(inject(engineUrl));
  url.pathname = `/${name}`;
  return url.href;
}

/** Tables of the product, without those that record migrations. */
async function tablesOf({ postgres, clickhouse }: Stores): Promise<{ postgres: number; clickhouse: number }> {
  const made = await postgres('pg_tables')
    .where('schemaname', 'public')
    .whereNot('tablename', 'like', 'knex%')
    .pluck('tablename');
  const result = await clickhouse.query({ query: 'SHOW TABLES', format: 'JSONEachRow' });
  const tables = await result.json<{ name: string }>();
  return { postgres: made.length, clickhouse: tables.filter(({ name }) => name !== 'schema_migrations').length };
}

/** `npm run migrate`, as an operator runs it on engines of their own. */
function migrate({ databaseUrl, clickhouseUrl }: Stores): Promise<{ code: unknown; out: string; err: string }> {
  const env = { ...process.env, DATABASE_URL: databaseUrl, DATABASE_MIGRATE_URL: '', CLICKHOUSE_URL: clickhouseUrl };
  return new Promise((resolve) => {
    execFile(process.execPath, ['--import', 'tsx', 'src/cli/migrate.ts'], { env }, (error, out, err) =>
      resolve({ code: error === null ? 0 : error.code, out, err }),
    );
  });
}

/** What the first migrations before the first release recorded of themselves. */
const former = {
  async postgres({ postgres }: Stores): Promise<void> {
    await postgres.schema.createTable('knex_migrations', (table) => {
      table.increments();
      table.string('name');
      table.integer('batch');
      table.timestamp('migration_time');
    });
    await postgres('knex_migrations').insert(
      ['0001_tenancy', '0002_quarantine', '0003_model_prices'].map((name) => ({ name, batch: 1 })),
    );
  },
  clickhouse: (stores: Stores) => recordIn(stores, '0001_spans.sql'),
  changed: (stores: Stores) => recordIn(stores, '0001_create_spans.sql 00c0ffee'),
};

async function recordIn({ clickhouse }: Stores, name: string): Promise<void> {
  await clickhouse.command({
    query: `CREATE TABLE schema_migrations (name String, applied_at DateTime64(3, 'UTC') DEFAULT now64(3)) ENGINE = MergeTree ORDER BY name`,
  });
  await clickhouse.insert({
    table: 'schema_migrations',
    values: [{ name }],
    format: 'JSONEachRow',
  });
}

const remedy =
  'To start over without its data, create an empty database in Postgres and in ClickHouse and name them in ' +
  'DATABASE_URL and CLICKHOUSE_URL; with docker-compose.yml, run: docker compose down --volumes\n';

describe('the command migrate', () => {
  test.each([
    ['Postgres', 'postgres', 'it ran 0001_tenancy, 0002_quarantine and 1 more'],
    ['ClickHouse', 'clickhouse', 'it ran 0001_spans.sql'],
    // A file that has changed since.
    ['ClickHouse', 'changed', 'it ran 0001_create_spans.sql 00c0ffee'],
  ] as const)('refuses a %s of a former layout with one line, and changes nothing', async (store, key, found) => {
    const stores = await emptyStores(`former_${key}`);
    await former[key](stores);
    expect(await migrate(stores)).toEqual({
      code: 1,
      out: '',
      err:
        `${store} has the tables of an unreleased version, which no release can read: ${found}, ` +
        `which this version does not have. ${remedy}`,
    });
    expect(await tablesOf(stores)).toEqual({ postgres: 0, clickhouse: 0 });
  });

  test('takes empty databases, and what it has migrated itself', async () => {
    const stores = await emptyStores('migrated_twice');
    expect(await migrate(stores)).toMatchObject({ code: 0, err: '', out: expect.stringMatching(/^Applied: 0001_/) });
    const made = await tablesOf(stores);
    expect(made).toMatchObject({ postgres: expect.any(Number), clickhouse: 9 });
    expect(await migrate(stores)).toEqual({ code: 0, err: '', out: 'The schema is up to date.\n' });
    expect(await tablesOf(stores)).toEqual(made);
  });

  test('says at once what Postgres refuses, if the password is wrong', async () => {
    const stores = await emptyStores('wrong_password');
    const databaseUrl = Object.assign(new URL(stores.databaseUrl), { password: 'another' }).href;
    expect(await migrate({ ...stores, databaseUrl })).toEqual({
      code: 1,
      out: '',
      err: expect.stringMatching(
        /^The database cannot be reached .*\(password authentication failed for user "\w+"\)\n$/,
      ),
    });
  });
});
