import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { createIdempotencyStore } from '../../../src/domains/idempotency/index.ts';
import { newId } from '../../../src/lib/ids.ts';
import { connectPostgres, type Postgres } from '../../../src/stores/postgres/client.ts';
import { type PostgresProxy, startPostgresProxy } from '../../support/postgres-proxy.ts';

let proxy: PostgresProxy;
let postgres: Postgres;
beforeAll(async () => {
  proxy = await startPostgresProxy(inject('serviceDatabaseUrl'));
  postgres = connectPostgres(proxy.url, 2);
});
afterAll(async () => {
  await postgres?.destroy();
  await proxy?.close();
});

test('a request that was given up while Postgres was frozen did not begin, so its retry does', async () => {
  const store = createIdempotencyStore(postgres);
  const request = { tenant: newId('wsp'), operationId: 'createPrompt', key: 'of the test', digest: randomBytes(32) };
  proxy.hold('insert into idempotency_keys');
  await expect(store.begin(request)).rejects.toMatchObject({ code: 'postgres_unavailable' });
  proxy.release();
  expect(await store.begin(request)).toMatchObject({ outcome: 'begun' });
});
