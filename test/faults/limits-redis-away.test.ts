import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkInRedis } from '../../src/domains/quotas/check-in-redis.ts';
import { newId } from '../../src/lib/ids.ts';
import { connectPostgres, type Postgres } from '../../src/stores/postgres/client.ts';
import { rateKey } from '../../src/stores/redis/names.ts';
import { seededRandom } from '../support/random.ts';
import { post } from '../support/sender.ts';
import { type Project, type Stack, showLogsOnFailure, startStack } from '../support/stack.ts';
import { until } from '../support/until.ts';
import { singleTraceBody } from '../support/workload.ts';

const readLimit = 30;
const overrides = { rate_limits: { read: readLimit, ingest: 1_000 }, quotas: { spans: 1_000 } };
/** Waits for a Redis that hangs, and no longer. */
const answerMsMax = 1_500;

describe('limits while Redis', () => {
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

  it.each([
    ['is stopped', () => stack.engines.redis.stop(), () => stack.engines.redis.start()],
    ['is frozen', () => signal('SIGSTOP'), () => signal('SIGCONT')],
  ])(
    '%s: reads pass up to the limit in this process, ingestion is 503, and afterwards all is as before',
    async (name, begin, end) => {
      showLogsOnFailure(stack);
      const project = await limitedProject(name);
      const body = () => singleTraceBody(seededRandom(), 2);
      const first = await until('the first spans', 30_000, async () => {
        const answer = await post(stack.apiUrl, project.apiKey, body());
        return answer.status === 200 && answer;
      });
      expect(first.headers.get('x-ratelimit-limit')).toBe('1000');
      await begin();
      const startedAtMs = performance.now();
      const outcomes = await Promise.all(Array.from({ length: 3 * readLimit }, () => read(project)));
      const refused = await post(stack.apiUrl, project.apiKey, body());
      const tookMs = performance.now() - startedAtMs;
      await end();
      const passed = outcomes.filter((outcome) => outcome === '200').length;
      expect(new Set(outcomes)).toEqual(new Set(['200', '429 rate_limited']));
      // Half a request drains every second.
      expect(passed).toBeGreaterThanOrEqual(readLimit);
      expect(passed).toBeLessThanOrEqual(readLimit + Math.ceil(tookMs / 2_000));
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
      expect(tookMs).toBeLessThan(2 * answerMsMax);
      await until(
        'spans are taken again',
        30_000,
        async () => (await post(stack.apiUrl, project.apiKey, body())).status === 200,
      );
    },
  );

  it('has forgotten their script: what was taken is kept', async () => {
    const key = rateKey(newId('wsp'), 'ingest');
    const check = { kind: 'rate', name: 'ingest', key, cost: 1, limit: 2, windowMs: 3_600_000 } as const;
    await checkInRedis(stack.redis, [check]);
    await stack.redis.script('FLUSH');
    const outcomes = await Promise.all(Array.from({ length: 5 }, () => checkInRedis(stack.redis, [check])));
    expect(outcomes.filter(({ granted }) => granted)).toHaveLength(1);
  });

  const signal = async (name: NodeJS.Signals) => process.kill(stack.engines.redis.pid, name);

  const read = async (project: Project): Promise<string> => {
    const path = `/api/projects/${project.id}/model-prices`;
    const answer = await fetch(stack.apiUrl + path, { headers: { 'X-API-Key': project.apiKey } });
    const { code } = (await answer.json()) as { code?: string };
    return [answer.status, code].filter(Boolean).join(' ');
  };

  /** In a workspace of its own, because the limits are the workspace's. */
  async function limitedProject(name: string): Promise<Project> {
    const workspace = { id: newId('wsp'), name, plan: 'enterprise', plan_overrides: JSON.stringify(overrides) };
    await postgres('workspaces').insert(workspace);
    const project = await create(`/api/workspaces/${workspace.id}/projects`, { name });
    const { key } = await create(`/api/projects/${project.id}/api-keys`, { name });
    return { id: project.id, apiKey: key };
  }

  async function create(path: string, body: unknown): Promise<{ id: string; key: string }> {
    const answer = await fetch(stack.apiUrl + path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Admin-Key': stack.adminKey },
      body: JSON.stringify(body),
    });
    expect(answer.status).toBe(201);
    return (await answer.json()) as { id: string; key: string };
  }
});
