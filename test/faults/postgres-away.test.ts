import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectPostgres, type Postgres } from '../../src/stores/postgres/client.ts';
import { encodeSpans } from '../support/otlp-encode.ts';
import { insertPrompt } from '../support/prompts.ts';
import { seededRandom } from '../support/random.ts';
import { expectExactlyOnce } from '../support/readable.ts';
import { type Answer, post, SendLog } from '../support/sender.ts';
import { aModelCall, newTraceId } from '../support/spans.ts';
import { type Project, type Stack, showLogsOnFailure, startStack } from '../support/stack.ts';
import { postTraces } from '../support/traces.ts';
import { until } from '../support/until.ts';
import { singleTraceBody } from '../support/workload.ts';

const recoveryMsMax = 2_000;
/** Within which health must say what is. */
const tellMsMax = 10_000;
/** For so long nobody asks the database again that did not answer. */
const freshMs = 800;
/**
 * A batch waits a fifth of a second; a database that is away must not show beside that and the store's own time.
 * The bound is the larger of this and twice the time while Postgres is there: other test files share the processors.
 */
const storedMsMax = 2_000;

describe('with Postgres killed', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack();
  });
  afterAll(() => stack?.stop());

  it('a key used before still sends, an unknown one is 503, health says down; all is well after a restart', async () => {
    const random = seededRandom();
    showLogsOnFailure(stack);
    const [known, unseen] = [await stack.createProject('known'), await stack.createProject('unseen')];
    const logs = new Map([known, unseen].map((project) => [project, new SendLog()]));
    const send = async (project: Project): Promise<Answer> => {
      const body = singleTraceBody(random, 3);
      const log = logs.get(project) ?? new SendLog();
      for (const key of body.spanKeys) log.attempted.add(key);
      const answer = await post(stack.apiUrl, project.apiKey, body);
      if (answer.status === 200) for (const key of body.spanKeys) log.acknowledged.add(key);
      return answer;
    };
    expect((await send(known)).status).toBe(200);

    await stack.engines.postgres.kill();
    const killedAtMs = Date.now();
    const down = await until('health says down', tellMsMax, () => healthOf(stack, 'down'));
    // For longer than a failed look-up rests, so that a key that is not remembered would be found out.
    while (Date.now() - killedAtMs < 2 * freshMs) expect((await send(known)).status).toBe(200);
    const refused = await send(unseen);
    expect(refused.status).toBe(503);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(JSON.parse(refused.body.toString())).toMatchObject({ code: 14 });
    const problem = await fetch(`${stack.apiUrl}/api/quarantine`, { headers: { 'X-Admin-Key': stack.adminKey } });
    expect(problem.status).toBe(503);
    expect(down).toEqual({ code: 503, reason: 'cannot authenticate: Postgres does not respond' });

    const restartedAtMs = Date.now();
    await stack.engines.postgres.start();
    await until('the first 200', recoveryMsMax, async () => {
      const answer = await send(unseen);
      if (answer.status === 200) return true;
      throw new Error(`${answer.status} after ${Math.round(answer.tookMs)} ms: ${answer.body.toString()}`);
    });
    const recoveredMs = Date.now() - restartedAtMs;
    expect(await until('health says ok', tellMsMax, () => healthOf(stack, 'ok'))).toEqual({ code: 200 });
    expect((await send(known)).status).toBe(200);
    await stack.untilIdle(30_000);
    for (const [project, log] of logs) await expectExactlyOnce(stack, project, log);
    console.log(`Postgres killed: an unseen key was taken ${recoveredMs} ms after the restart began`);
  });

  it('a span that names a prompt is stored as fast as ever; the link is found when it is read after a restart', async () => {
    showLogsOnFailure(stack);
    const project = await stack.createProject('names a prompt');
    const slugs = ['known', 'unseen'];
    const [known, unseen] = await withPostgres(stack, (postgres) =>
      Promise.all(slugs.map((slug) => insertPrompt(postgres, project.id, { slug }))),
    );
    const send = async (name: string): Promise<{ traceId: string; storedMs: number }> => {
      const traceId = newTraceId();
      const attributes = { 'gen_ai.prompt.name': name };
      const body = Buffer.from(encodeSpans('protobuf', [aModelCall(1, 1, { traceId, attributes })]));
      const sentAtMs = Date.now();
      expect((await postTraces({ url: stack.apiUrl }, project.apiKey, body)).status).toBe(200);
      await until('the span is readable', 30_000, async () => (await promptOf(stack, project, traceId)) !== undefined);
      return { traceId, storedMs: Date.now() - sentAtMs };
    };
    const { traceId: before, storedMs: quietMs } = await send('known');
    const sendSoon = async (name: string): Promise<string> => {
      const { traceId, storedMs } = await send(name);
      expect(storedMs).toBeLessThan(Math.max(storedMsMax, 2 * quietMs));
      return traceId;
    };
    await stack.engines.postgres.kill();
    const killedAtMs = Date.now();
    const sent = { known: [before], unseen: [] as string[] };
    try {
      // For longer than what is known of the prompt holds without being asked for again.
      while (Date.now() - killedAtMs < 6_000) {
        sent.known.push(await sendSoon('known'));
        sent.unseen.push(await sendSoon('unseen'));
      }
      expect(await promptOf(stack, project, before)).toMatchObject({ id: known });
      expect(await promptOf(stack, project, sent.unseen[0] ?? '')).toMatchObject({ id: null, name: 'unseen' });
    } finally {
      await stack.engines.postgres.start();
    }
    for (const traceId of [...sent.known, ...sent.unseen]) {
      const promptId = sent.known.includes(traceId) ? known : unseen;
      await until('the link', 30_000, async () => (await promptOf(stack, project, traceId))?.id === promptId);
    }
  });

  it('whatever a key used before reads or changes is 503 with the seconds to wait, never 500', async () => {
    showLogsOnFailure(stack);
    const project = await stack.createProject('reads and changes');
    const call = async (method: string, path: string, body?: object) => {
      const response = await fetch(`${stack.apiUrl}/api/projects/${project.id}/${path}`, {
        method,
        headers: { 'X-API-Key': project.apiKey, 'Content-Type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      });
      return { status: response.status, waits: response.headers.get('retry-after'), text: await response.text() };
    };
    const text = { type: 'text', template: 'Hello' };
    const made = [
      await call('POST', 'prompts', { name: 'p', ...text }),
      await call('POST', 'parts', { name: 'q', template: 'Hello' }),
      await call('PUT', 'prompts/p', { template: 'Hello again' }),
    ];
    expect(made.map(({ status }) => status < 300)).toEqual([true, true, true]);
    await stack.engines.postgres.kill();
    try {
      const calls: [method: string, path: string, body?: object][] = [
        ['POST', 'prompts', { name: 'another', ...text }],
        ['PUT', 'prompts/p', { template: 'Changed' }],
        ['PUT', 'prompts/p', { description: 'changed' }],
        ['PUT', 'parts/q', { template: 'Changed' }],
        ['POST', 'prompts/p/rollback', { version: 1 }],
        ['PUT', 'prompts/p/labels/production', { version: 1 }],
        ['GET', 'prompts/p/labels/production/history'],
        ['GET', 'prompts'],
        ['GET', 'prompts/p/versions'],
        ['GET', 'prompts/p/diff?from=1&to=2'],
        ['GET', 'parts/q/usage'],
        ['GET', 'prompts/export'],
        ['POST', 'prompts/validate', { ...text, template: '{{> q}}' }],
        ['PUT', 'model-prices', { prices: [] }],
        ['DELETE', 'prompts/p'],
        ['DELETE', 'parts/q'],
      ];
      for (const [method, path, body] of calls) {
        const { status, waits, text } = await call(method, path, body);
        expect([method, path, status, waits], text).toEqual([method, path, 503, '1']);
      }
    } finally {
      await stack.engines.postgres.start();
    }
  });

  it('a key used before still sends, from several exporters at once', async () => {
    const project = await stack.createProject('at once');
    const send = () => post(stack.apiUrl, project.apiKey, singleTraceBody(Math.random, 3));
    expect((await send()).status).toBe(200);
    await stack.engines.postgres.kill();
    const killedAtMs = Date.now();
    try {
      while (Date.now() - killedAtMs < 2 * freshMs) {
        const answers = await Promise.all(Array.from({ length: 5 }, send));
        expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
      }
    } finally {
      await stack.engines.postgres.start();
    }
  });

  it('a worker that knows a project’s own prices goes on with them', async () => {
    showLogsOnFailure(stack);
    const project = await stack.createProject('priced');
    await putPrice(stack, project, 1_000);
    expect((await post(stack.apiUrl, project.apiKey, singleTraceBody(Math.random, 3))).status).toBe(200);
    await stack.untilIdle(30_000);
    await stack.engines.postgres.kill();
    try {
      expect((await post(stack.apiUrl, project.apiKey, singleTraceBody(Math.random, 2))).status).toBe(200);
      await stack.untilIdle(30_000);
      expect(await storedCosts(stack, project)).toEqual(Array(5).fill('12000000'));
    } finally {
      await stack.engines.postgres.start();
    }
  });

  it('a worker that has not seen a project waits for its prices: its spans come late, but priced right', async () => {
    showLogsOnFailure(stack);
    const project = await stack.createProject('priced before the worker came');
    await putPrice(stack, project, 1_000);
    expect((await post(stack.apiUrl, project.apiKey, singleTraceBody(Math.random, 1))).status).toBe(200);
    await stack.untilIdle(30_000);
    await stack.worker.kill();
    await stack.engines.postgres.kill();
    try {
      await stack.worker.start();
      expect((await post(stack.apiUrl, project.apiKey, singleTraceBody(Math.random, 3))).status).toBe(200);
      await until('the body waits for another try', 30_000, async () => (await stack.ingest.getDelayedCount()) > 0);
      expect(await storedCosts(stack, project)).toHaveLength(1);
    } finally {
      await stack.engines.postgres.start();
    }
    await stack.untilIdle(15_000);
    expect(await storedCosts(stack, project)).toEqual(Array(4).fill('12000000'));
  });
});

/** The prompt of the trace's first span as a reader sees it; undefined while there is no span. */
async function promptOf(
  { apiUrl }: Stack,
  project: Project,
  traceId: string,
): Promise<{ id: string | null } | undefined> {
  const answer = await fetch(`${apiUrl}/api/projects/${project.id}/executions/${traceId}`, {
    headers: { 'X-API-Key': project.apiKey },
  });
  const body = (await answer.json()) as { spans?: { prompt_ref: { id: string | null } }[] };
  return body.spans?.[0]?.prompt_ref;
}

async function withPostgres<T>(stack: Stack, work: (postgres: Postgres) => Promise<T>): Promise<T> {
  const postgres = connectPostgres(stack.engines.postgres.url, 1);
  try {
    return await work(postgres);
  } finally {
    await postgres.destroy();
  }
}

/** Puts a project's price of the model of the workload's spans, in USD per million tokens. */
async function putPrice({ apiUrl }: Stack, project: Project, usd: number): Promise<void> {
  const response = await fetch(`${apiUrl}/api/projects/${project.id}/model-prices`, {
    method: 'PUT',
    headers: { 'Content-Type': 'application/json', 'X-API-Key': project.apiKey },
    body: JSON.stringify({
      prices: [{ model: 'gpt-4o-mini', input_per_million: usd, output_per_million: usd }],
    }),
  });
  expect(response.status, await response.text()).toBe(200);
}

/** What the stored spans of a project cost, in nano-USD each; a span that is there twice is here twice. */
async function storedCosts({ clickhouse }: Stack, project: Project): Promise<string[]> {
  const result = await clickhouse.query({
    query: 'SELECT toString(cost_nano_usd) AS cost FROM spans FINAL WHERE project_id = {projectId:String}',
    query_params: { projectId: project.id },
    format: 'JSONEachRow',
  });
  return (await result.json<{ cost: string }>()).map(({ cost }) => cost);
}

/** The answer of health once it says this status, and what it says of Postgres. */
async function healthOf({ apiUrl }: Stack, wanted: string): Promise<{ code: number; reason?: string } | false> {
  const answer = await fetch(`${apiUrl}/api/health`);
  const { status, checks } = (await answer.json()) as { status: string; checks: { postgres: { reason?: string } } };
  const { reason } = checks.postgres;
  return status === wanted && { code: answer.status, ...(reason !== undefined && { reason }) };
}
