import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectPostgres, type Postgres } from '../../src/stores/postgres/client.ts';
import { type Project, type Stack, showLogsOnFailure, startStack } from '../support/stack.ts';
import { until } from '../support/until.ts';

const idempotencyKey = 'made-once';
const name = 'made once';

async function codeOf(response: Response): Promise<unknown> {
  return Object(await response.json()).code;
}

describe('with the API killed between an effect and its stored answer', () => {
  let stack: Stack;
  let postgres: Postgres;
  let project: Project;
  beforeAll(async () => {
    stack = await startStack();
    postgres = connectPostgres(stack.engines.postgres.url, 4);
    project = await stack.createProject('crash');
  });
  afterAll(async () => {
    await postgres?.destroy();
    await stack?.stop();
  });

  const create = () =>
    fetch(`${stack.apiUrl}/api/projects/${project.id}/api-keys`, {
      method: 'POST',
      headers: {
        'X-Admin-Key': stack.adminKey,
        'Content-Type': 'application/json',
        'Idempotency-Key': idempotencyKey,
      },
      body: JSON.stringify({ name }),
    });
  const made = () => postgres('api_keys').where({ project_id: project.id, name });
  const held = () => postgres('idempotency_keys').where({ tenant: project.id, key: idempotencyKey });

  it('the effect is there once, and a repeat is told that its outcome is not known', async () => {
    showLogsOnFailure(stack);
    // The effect waits for the first lock; its answer, once the effect is there, for the second.
    const effect = await postgres.transaction();
    await effect.raw('lock table audit_log in access exclusive mode');
    const lost = create().then(
      () => 'answered',
      () => 'cut off',
    );
    await until('the key is begun', 30_000, async () => (await held()).length === 1);
    const answer = await postgres.transaction();
    await answer('idempotency_keys').where({ key: idempotencyKey }).forUpdate().select('key');
    await effect.commit();
    await until('the effect is there', 30_000, async () => (await made()).length === 1);
    await stack.api.kill();
    // A server does not notice that a client is gone while its statement waits, and would store the answer after all.
    await postgres.raw("select pg_terminate_backend(pid) from pg_stat_activity where wait_event_type = 'Lock'");
    await answer.rollback();
    expect(await lost).toBe('cut off');

    await stack.api.start();
    const soon = await create();
    expect([soon.status, await codeOf(soon)]).toEqual([409, 'idempotency_in_flight']);
    await held().update({ started_at: postgres.raw("started_at - interval '10 minutes'") });
    const later = await create();
    expect([later.status, await codeOf(later)]).toEqual([409, 'idempotency_answer_lost']);
    expect(await made()).toHaveLength(1);
  });
});
