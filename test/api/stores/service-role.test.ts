import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import * as keepDeletedRuns from '../../../migrations/postgres/0019_keep_deleted_optimization_runs.ts';
import { connectPostgres, type Postgres } from '../../../src/stores/postgres/client.ts';
import {
  hintIfUnlimited,
  limitStatements,
  ownsTables,
  putServiceUser,
} from '../../../src/stores/postgres/service-role.ts';
import type { Logger } from '../../../src/telemetry/logger.ts';
import { newDatabase } from '../../support/own-database.ts';
import { until } from '../../support/until.ts';

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

/** Of another user for every test. */
function urlOf(user: string, password: string): string {
  const url = new URL(inject('serviceDatabaseUrl'));
  url.username = user;
  url.password = encodeURIComponent(password);
  return url.href;
}

async function expectLogin(url: string): Promise<void> {
  const connected = connectPostgres(url, 1);
  try {
    expect(await connected('workspaces').where({ id: 'none' }).select('id')).toEqual([]);
  } finally {
    await connected.destroy();
  }
}

/** Everything that is sent to the server, the bound values too, while `work` runs. */
async function statementsOf(work: () => Promise<void>): Promise<string[]> {
  const sent: string[] = [];
  const note = ({ sql, bindings }: { sql: string; bindings?: unknown[] }) =>
    sent.push(sql, ...(bindings ?? []).map(String));
  owner.on('query', note);
  await work().finally(() => owner.off('query', note));
  return sent;
}

describe('the time of a statement, and that of a transaction between two of them', () => {
  test('is limited for the user of the URL once that is set, and no parameter of the connection says so', async () => {
    const url = urlOf('promptlane_limited', 'password');
    await putServiceUser(owner, url);
    const hints = async () => {
      const said: string[] = [];
      const connected = connectPostgres(url, 1);
      const logger = { warn: (text: string) => said.push(text) } as unknown as Logger;
      await hintIfUnlimited(connected, logger).finally(() => connected.destroy());
      return said;
    };
    expect(await limitsOf(url)).toEqual(['0', '0']);
    const [ofStatement, ofPause] = ['statement_timeout = 10000', 'idle_in_transaction_session_timeout = 5000'];
    expect(await hints()).toEqual([expect.stringContaining(ofStatement), expect.stringContaining(ofPause)]);
    await limitStatements(owner, url);
    expect(await limitsOf(url)).toEqual(['10s', '5s']);
    expect(await hints()).toEqual([]);
  });

  test('stays as it is where the migrating user may not change the other one', async () => {
    await expect(limitStatements(service, inject('databaseUrl'))).resolves.toBeUndefined();
  });

  test('is that of every connection of the service', async () => {
    expect(await limitsOf(inject('serviceDatabaseUrl'))).toEqual(['10s', '5s']);
  });
});

async function limitsOf(url: string): Promise<string[]> {
  const connected = connectPostgres(url, 1);
  const settings = [`current_setting('statement_timeout')`, `current_setting('idle_in_transaction_session_timeout')`];
  const { rows } = await connected.raw(`select array[${settings.join()}] as limits`).finally(() => connected.destroy());
  return rows[0].limits;
}

test('the user of the service may use the view of optimization runs as soon as it exists, before rights are granted again', async () => {
  const own = connectPostgres(await newDatabase(), 1);
  await putServiceUser(own, urlOf('promptlane_rolling', 'password'));
  await keepDeletedRuns.down(own);
  await keepDeletedRuns.up(own);
  const { rows } = await own
    .raw(
      `select bool_and(has_table_privilege('promptlane_rolling', name, privilege)) as may
       from unnest(array['optimization_runs', 'optimization_runs_with_deleted']) as name,
         unnest(array['select', 'insert', 'update', 'delete']) as privilege`,
    )
    .finally(() => own.destroy());
  expect(rows).toEqual([{ may: true }]);
});

test('granting again changes nothing, and gives the user the password of the URL', async () => {
  await putServiceUser(owner, inject('serviceDatabaseUrl'));
  for (const password of ['first-pass?word', `second' "pass\\word`, 'third \uFB01n\u00A0\u00E4\u00ADu\u0308']) {
    const url = urlOf('promptlane_other', password);
    await putServiceUser(owner, url);
    await expectLogin(url);
  }
});

test('no statement holds the password, and none fails where the user exists', async () => {
  const failures: unknown[] = [];
  owner.on('query-error', (error: unknown) => failures.push(error));
  for (const password of [
    'password-of-the-first-start',
    'password-of-the-first-start',
    'password-of-the-third-start',
  ]) {
    const url = urlOf('promptlane_quiet', password);
    const sent = await statementsOf(() => putServiceUser(owner, url));
    expect(sent.join('\n')).toContain('SCRAM-SHA-256$4096:');
    expect(sent.filter((text) => text.includes(password))).toEqual([]);
    await expectLogin(url);
  }
  expect(failures).toEqual([]);
});

test('a user that somebody else makes at the same moment is given the password', async () => {
  const url = urlOf('promptlane_raced', 'password-of-the-race');
  const rival = connectPostgres(inject('databaseUrl'), 2);
  let putting: Promise<void> | undefined;
  await rival.transaction(async (transaction) => {
    await transaction.raw('create role promptlane_raced login');
    putting = putServiceUser(owner, url);
    await until('our statement waits for that of the other', 5_000, async () => {
      const waiting = await rival('pg_stat_activity')
        .where('wait_event_type', 'Lock')
        .whereLike('query', '%promptlane_raced%');
      return waiting.length > 0;
    });
  });
  await putting;
  await rival.destroy();
  await expectLogin(url);
});
