import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Project, type Stack, showLogsOnFailure, startStack } from '../support/stack.ts';
import { until } from '../support/until.ts';
import { type WorstBody, worstBodies } from '../support/worst-bodies.ts';

const storedMsMax = 60_000;
const mebibyte = 1024 * 1024;

describe('the worst bodies that the limits allow, one after the other', () => {
  let stack: Stack;
  let hostile: Project;
  let other: Project;
  let pid: number | undefined;
  beforeAll(async () => {
    stack = await startStack();
    [hostile, other] = [await stack.createProject('hostile'), await stack.createProject('other')];
    pid = stack.worker.pid;
  });
  afterAll(() => stack?.stop());

  // A few of them: test/unit/ingestion/body-encoder.test.ts has them all.
  const names = /^(?:model calls with messages|spans with as many events|numbered messages)/;
  it.each(worstBodies(62 * mebibyte).filter(([name]) => names.test(name)))(
    '%s: is stored, others are readable meanwhile, and the worker is the same process',
    async (_name, make) => {
      showLogsOnFailure(stack);
      const body = make();
      expect((await send(body)).status).toBe(200);
      const waits: number[] = [];
      await until('the body is stored', storedMsMax, async () => {
        waits.push(await readableAfterMs());
        return (await countStored(body.traceId)) === body.spans;
      });
      console.log(`others were readable after at most ${Math.round(Math.max(...waits))} ms, ${waits.length} times`);
      expect(stack.worker.pid).toBe(pid);
      await stack.untilIdle(30_000);
    },
  );

  function send({ bytes, encoding }: WorstBody): Promise<Response> {
    return fetch(`${stack.apiUrl}/api/v1/traces`, {
      method: 'POST',
      headers: {
        'X-API-Key': hostile.apiKey,
        'Content-Type': encoding === 'json' ? 'application/json' : 'application/x-protobuf',
        'Content-Encoding': 'gzip',
      },
      body: gzipSync(bytes, { level: 1 }),
    });
  }

  /** How long it takes until a new execution of another project is readable, ten seconds at most. */
  async function readableAfterMs(): Promise<number> {
    const startedAtMs = performance.now();
    const response = await fetch(`${stack.apiUrl}/api/projects/${other.id}/executions`, {
      method: 'POST',
      headers: { 'X-API-Key': other.apiKey, 'Content-Type': 'application/json', Prefer: 'wait=10' },
      body: JSON.stringify({ name: 'of another project' }),
    });
    expect(await response.json()).toMatchObject({ status: 'stored' });
    return performance.now() - startedAtMs;
  }

  async function countStored(traceId: string): Promise<number> {
    const result = await stack.clickhouse.query({
      query: `SELECT count() AS spans FROM spans WHERE project_id = {projectId:String} AND trace_id = unhex({traceId:String})`,
      query_params: { projectId: hostile.id, traceId },
      format: 'JSONEachRow',
    });
    const [row] = await result.json<{ spans: string }>();
    return Number(row?.spans);
  }
});
