import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { connectPostgres, type Postgres } from '../../src/stores/postgres/client.ts';
import { ownsTables, putServiceUser } from '../../src/stores/postgres/service-role.ts';

/** As API and worker connect, under a name of its own: what this one says is not the product's. */
let service: Postgres;
let owner: Postgres;
beforeAll(async () => {
  owner = connectPostgres(inject('databaseUrl'), 1);
  const url = new URL(inject('serviceDatabaseUrl'));
  url.username = 'promptlane_tested';
  await putServiceUser(owner, url.href);
  service = connectPostgres(url.href, 1);
});
afterAll(async () => {
  await service.destroy();
  await owner.destroy();
});

describe('the user that API and worker connect as', () => {
  test.each([
    'create table smuggled (id int)',
    'create schema smuggled',
    `create function smuggled() returns int language sql as 'select 1'`,
    'alter table api_keys add column smuggled int',
    'alter table api_keys disable trigger all',
    'drop table audit_log',
    'truncate audit_log',
    'drop trigger note_update on api_keys',
    'create index smuggled on prompts (name)',
    'create policy smuggled on prompts using (true)',
    'alter table prompts disable row level security',
    'create role smuggled superuser',
    'set role promptlane',
    'set session_replication_role = replica',
    'select * from knex_migrations',
    'delete from audit_log',
    `update audit_log set actor_id = 'nobody'`,
    `insert into changes (topic, subject_id) values ('a', 'b')`,
    `select pg_read_file('/etc/passwd')`,
    `copy prompts to program 'cat'`,
  ])('may not: %s', async (statement) => {
    const failure = await service.raw(statement.replaceAll('?', '\\?')).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: '42501' });
  });

  test('is no superuser, passes no row security, owns no table, and may use every table but those of the migrations', async () => {
    const role = await service('pg_roles').whereRaw('rolname = current_user').first();
    const rights = { rolsuper: false, rolbypassrls: false, rolcreaterole: false, rolcreatedb: false };
    expect(role).toMatchObject(rights);
    expect(await service('pg_tables').whereRaw('tableowner = current_user').select('tablename')).toEqual([]);
    const unreadable = await service('pg_tables')
      .where('schemaname', 'public')
      .whereRaw(`not has_table_privilege(schemaname || '.' || tablename, 'select')`)
      .orderBy('tablename')
      .pluck('tablename');
    expect(unreadable).toEqual(['knex_migrations', 'knex_migrations_lock']);
  });

  test('is told apart from the owner', async () => {
    expect([await ownsTables(service), await ownsTables(owner)]).toEqual([false, true]);
  });
});

test('granting again changes nothing, and gives the user the password of the URL', async () => {
  const url = new URL(inject('serviceDatabaseUrl'));
  await putServiceUser(owner, url.href);
  url.username = 'promptlane_other';
  for (const password of ['first-pass?word', `second' "pass\\word`]) {
    url.password = encodeURIComponent(password);
    await putServiceUser(owner, url.href);
    const other = connectPostgres(url.href, 1);
    expect(await other('workspaces').where({ id: 'none' }).select('id')).toEqual([]);
    await other.destroy();
  }
});
