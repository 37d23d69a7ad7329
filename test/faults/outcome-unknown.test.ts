import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Project, type Stack, showLogsOnFailure, startStack } from '../support/stack.ts';
import { until } from '../support/until.ts';

interface Answer {
  status: number;
  traceId: string | undefined;
}

/** What is done while Redis hangs, after the request has begun. */
const cases: readonly [
  name: string,
  hangs: (attempt: () => Promise<Answer>, resume: () => void) => Promise<unknown>,
][] = [
  [
    'and the first attempt is refused before Redis goes on',
    async (attempt, resume) => {
      expect((await attempt()).status).toBe(503);
      resume();
    },
  ],
  [
    'and attempts follow while it still hangs',
    async (attempt, resume) => {
      for (let count = 0; count < 3; count++) expect((await attempt()).status).toBe(503);
      resume();
    },
  ],
  [
    'and goes on about when the first attempt is given up',
    async (attempt, resume) => {
      const first = attempt();
      // The point of this case is its moment: commands are given up after one second.
      await delay(980);
      resume();
      await first;
    },
  ],
  [
    'and goes on at once',
    async (attempt, resume) => {
      const first = attempt();
      resume();
      await first;
    },
  ],
];

describe('POST /executions under one Idempotency-Key while Redis hangs', () => {
  let stack: Stack;
  let project: Project;
  beforeAll(async () => {
    stack = await startStack();
    project = await stack.createProject('outcomes');
  });
  afterAll(() => stack?.stop());

  const headers = () => ({ 'X-API-Key': project.apiKey, 'Content-Type': 'application/json' });
  const url = () => `${stack.apiUrl}/api/projects/${project.id}/executions`;
  const signal = (name: NodeJS.Signals) => process.kill(stack.engines.redis.pid, name);

  async function attempt(key: string, name: string): Promise<Answer> {
    const answer = await fetch(url(), {
      method: 'POST',
      headers: { ...headers(), 'Idempotency-Key': key },
      body: JSON.stringify({ name, cost: '100.00', spans: [{ name: 'child', kind: 'tool' }] }),
    });
    return { status: answer.status, traceId: Object(await answer.json()).trace_id };
  }

  async function listed(name: string): Promise<{ trace_id: string; name: string }[]> {
    const answer = await fetch(`${url()}?limit=100`, { headers: headers() });
    const { data } = (await answer.json()) as { data: { trace_id: string; name: string }[] };
    return data.filter((each) => each.name === name);
  }

  it.each(cases)('%s: a retry ends in exactly one execution', async (name, hangs) => {
    showLogsOnFailure(stack);
    const retry = () => attempt(name.replaceAll(' ', '-'), name);
    await until(
      'ingestion is open',
      30_000,
      async () => (await attempt(`probe-${Math.random()}`, 'probe')).status === 202,
    );
    signal('SIGSTOP');
    try {
      await hangs(retry, () => signal('SIGCONT'));
    } finally {
      signal('SIGCONT');
    }
    const done = await until('the retry is taken', 30_000, async () => {
      const answer = await retry();
      return answer.status === 202 && answer;
    });
    const again = await retry();
    expect([again.status, again.traceId]).toEqual([202, done.traceId]);
    await stack.untilIdle(60_000);
    const found = await until('it is listed', 30_000, async () => {
      const executions = await listed(name);
      return executions.length > 0 && executions;
    });
    expect(found.map((each) => each.trace_id)).toEqual([done.traceId]);
  });
});
