import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectPostgres, type Postgres } from '../../src/stores/postgres/client.ts';
import { type Project, type Stack, showLogsOnFailure, startStack } from '../support/stack.ts';
import { until } from '../support/until.ts';

/** What is promised whatever happens to Redis. */
const inForceMsMax = 1_000;

describe('a key while nobody can be told of changes', () => {
  let stack: Stack;
  let postgres: Postgres;
  beforeAll(async () => {
    stack = await startStack();
    postgres = connectPostgres(stack.engines.postgres.url, 1);
  });
  afterAll(async () => {
    await postgres?.destroy();
    await stack?.stop();
  });

  const statusOf = async ({ apiKey }: Project) =>
    (await fetch(`${stack.apiUrl}/api/me/context`, { headers: { 'X-API-Key': apiKey } })).status;
  const revoke = ({ id }: Project) => postgres('api_keys').where({ project_id: id }).update({ revoked_at: new Date() });
  const expectRefusedSoon = async (project: Project) => {
    const revokedAtMs = performance.now();
    await until('it is refused', 30_000, async () => (await statusOf(project)) === 401);
    expect(performance.now() - revokedAtMs).toBeLessThan(inForceMsMax);
  };

  it('revoked after Redis was killed is refused within a second, also right after Redis is back', async () => {
    showLogsOnFailure(stack);
    const [during, missed] = [await stack.createProject('during'), await stack.createProject('missed')];
    expect([await statusOf(during), await statusOf(missed)]).toEqual([200, 200]);
    await stack.engines.redis.kill();
    try {
      await revoke(during);
      await expectRefusedSoon(during);
      await revoke(missed);
    } finally {
      await stack.engines.redis.start();
    }
    await expectRefusedSoon(missed);
  });

  it('not revoked stays good while Postgres is away as well, though it is looked up again and again', async () => {
    showLogsOnFailure(stack);
    const project = await stack.createProject('good');
    const read = async () =>
      (
        await fetch(`${stack.apiUrl}/api/projects/${project.id}/executions`, {
          headers: { 'X-API-Key': project.apiKey },
        })
      ).status;
    expect(await read()).toBe(200);
    await Promise.all([stack.engines.redis.kill(), stack.engines.postgres.kill()]);
    const killedAtMs = Date.now();
    try {
      while (Date.now() - killedAtMs < 3 * inForceMsMax) expect(await read()).toBe(200);
    } finally {
      await Promise.all([stack.engines.redis.start(), stack.engines.postgres.start()]);
    }
    await until('Postgres answers again', 30_000, async () => (await statusOf(project)) === 200);
  });

  it('revoked while Redis hangs is refused within a second', async () => {
    showLogsOnFailure(stack);
    const project = await stack.createProject('hanging');
    expect(await statusOf(project)).toBe(200);
    process.kill(stack.engines.redis.pid, 'SIGSTOP');
    try {
      await revoke(project);
      await expectRefusedSoon(project);
    } finally {
      process.kill(stack.engines.redis.pid, 'SIGCONT');
    }
  });
});
