import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectPostgres, type Postgres } from '../../src/stores/postgres/client.ts';
import { type Stack, showLogsOnFailure, startStack } from '../support/stack.ts';
import { until } from '../support/until.ts';

/**
 * What the server gives a statement, what the connection is given beyond that, and the look itself
 * on a busy machine.
 */
const answeredMsMax = 10_000 + 2_000 + 2_000;

describe('with every process of Postgres frozen', () => {
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

  it('what is under way there is 503 after twelve seconds, not when the server goes on; all is well afterwards', async () => {
    showLogsOnFailure(stack);
    const project = await stack.createProject('frozen');
    const call = async (method: string, body?: object) => {
      const response = await fetch(`${stack.apiUrl}/api/projects/${project.id}/prompts`, {
        method,
        headers: { 'X-API-Key': project.apiKey, 'Content-Type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(answeredMsMax),
      });
      const { code, data } = (await response.json()) as { code?: string; data?: unknown[] };
      return { status: response.status, code, data };
    };
    const create = () => call('POST', { name: 'p', type: 'text', template: 'Hello' });
    expect((await call('GET')).status).toBe(200);

    const answers = await postgres.transaction(async (lock) => {
      await lock.raw('lock table prompts in access exclusive mode');
      const asked = Promise.all([call('GET'), create()]);
      await until('both wait at the server', 5_000, async () => {
        const { rows } = await lock.raw('select count(*)::int as waiting from pg_locks where not granted');
        return rows[0].waiting === 2;
      });
      const frozen = processesOf(stack.engines.postgres.pid);
      const signal = (name: NodeJS.Signals) => frozen.forEach((pid) => void process.kill(pid, name));
      signal('SIGSTOP');
      return asked.finally(() => signal('SIGCONT'));
    });
    expect(answers.map(({ status, code }) => [status, code])).toEqual(answers.map(() => [503, 'postgres_unavailable']));
    const listed = await until('prompts are listed', 5_000, async () => (await call('GET')).data);
    expect(listed).toEqual([]);
    expect((await create()).status).toBe(201);
  });
});

/** The server and its children, one for each connection. */
function processesOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean);
  return [pid, ...children.map(Number)];
}
