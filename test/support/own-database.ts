import { randomUUID } from 'node:crypto';
import { inject } from 'vitest';
import { connectPostgres } from '../../src/stores/postgres/client.ts';
import { migratePostgres } from '../../src/stores/postgres/migrate.ts';

/** Creates a database for one test file, so that no worker of another one sees its rows. Returns its URL. */
export async function newDatabase(): Promise<string> {
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  const owner = connectPostgres(inject('databaseUrl'), 1);
  await owner.raw('create database ??', [name]);
  await owner.destroy();
  const url = new URL(inject('databaseUrl'));
  url.pathname = `/${name}`;
  const made = connectPostgres(url.href, 1);
  await migratePostgres(made);
  await made.destroy();
  return url.href;
}
