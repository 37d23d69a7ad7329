import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newProject, type ProjectOfTest, startApi, type TestApi } from '../support/api.ts';
import { type OwnApi, startOwnApi } from '../support/api-process.ts';
import { limitedProject, override, spanQuota } from '../support/limits.ts';
import { encodeSpans } from '../support/otlp-encode.ts';
import { aSpan } from '../support/spans.ts';
import { postTraces } from '../support/traces.ts';
import { until } from '../support/until.ts';

/** What is promised for every process. */
const inForceMsMax = 1_000;

/** The one in this process, by which things are changed, and four of their own. */
let api: TestApi;
let processes: OwnApi[];

beforeAll(async () => {
  api = await startApi();
  processes = await Promise.all(Array.from({ length: 4 }, () => startOwnApi(api.config)));
});
afterAll(async () => {
  await Promise.all(processes?.map((each) => each.stop()) ?? []);
  await api?.close();
});

/** The same many times from every process, all begun together. */
function fromAll<T>(times: number, call: (origin: string) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: times }, () => processes.map(({ url }) => call(url))).flat());
}

const read = async (origin: string, { id, key }: ProjectOfTest) => {
  const answer = await fetch(`${origin}/api/projects/${id}/model-prices`, { headers: { 'X-API-Key': key } });
  const { code } = (await answer.json()) as { code?: string };
  return { status: answer.status, code, headers: answer.headers };
};

const bodyOf = (spans: number) =>
  Buffer.from(
    encodeSpans(
      'protobuf',
      Array.from({ length: spans }, () => aSpan()),
    ),
  );

/** Everyone has the project in memory, so that what follows waits for nothing but limits. */
const warmUp = (project: ProjectOfTest) => fromAll(1, (origin) => postTraces({ url: origin }, project.key, 'nonsense'));

const limitOf = async (origin: string, project: ProjectOfTest) =>
  (await read(origin, project)).headers.get('x-ratelimit-limit');

/** Until every process says this limit; after how long. */
async function inForceAfterMs(project: ProjectOfTest, limit: string): Promise<number> {
  const startedAtMs = performance.now();
  await until(`a limit of ${limit} everywhere`, 5_000, async () =>
    (await fromAll(1, (origin) => limitOf(origin, project))).every((each) => each === limit),
  );
  return performance.now() - startedAtMs;
}

describe('four API processes', () => {
  test('let exactly n requests through a limit of n, and what drained meanwhile', async () => {
    const limit = 60;
    const project = await limitedProject(api, { rate_limits: { read: limit } });
    await warmUp(project);
    const startedAtMs = performance.now();
    const answers = await fromAll(40, (origin) => read(origin, project));
    const drained = Math.ceil(((performance.now() - startedAtMs) * limit) / 60_000);
    const passed = answers.filter(({ status }) => status === 200).length;
    expect(new Set(answers.map(({ status, code }) => code ?? status))).toEqual(new Set([200, 'rate_limited']));
    expect(passed).toBeGreaterThanOrEqual(limit);
    expect(passed).toBeLessThanOrEqual(limit + drained);
    for (const { status, headers } of answers) {
      expect(headers.get('ratelimit-policy')).toBe(`"read";q=${limit};w=60`);
      expect(headers.get('ratelimit')).toBe(`"read";r=${headers.get('x-ratelimit-remaining')};t=${resetS(headers)}`);
      expect(headers.get('x-ratelimit-limit')).toBe(String(limit));
      expect(headers.has('retry-after')).toBe(status === 429);
    }
  });

  test('let exactly what the quota holds through, then answer 402, and meter no duplicate and nothing that is refused', async () => {
    const project = await limitedProject(api, { quotas: { spans: 100 } });
    await warmUp(project);
    const again = bodyOf(30);
    // In turn: what is under way is taken from the quota until it is known to be a duplicate.
    for (const { url } of [...processes, ...processes]) {
      expect((await postTraces({ url }, project.key, again)).status).toBe(200);
    }
    const answers = await fromAll(10, (origin) => postTraces({ url: origin }, project.key, bodyOf(7)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(10);
    expect(answers.filter(({ status }) => status === 402)).toHaveLength(30);
    await fromAll(3, (origin) => postTraces({ url: origin }, project.key, 'nonsense'));
    expect(await spanQuota(api, project)).toMatchObject({ used: 100, remaining: 0 });
  });

  test('know a plan and an override that another process changed within a second', async () => {
    const project = await newProject(api, 'free');
    await warmUp(project);
    expect(await inForceAfterMs(project, '300')).toBeLessThan(inForceMsMax);
    const change = (body: object) =>
      api.admin('updateWorkspace', { params: { workspace_id: project.workspaceId }, body }, 200);
    await change({ plan: 'pro' });
    expect(await inForceAfterMs(project, '1000')).toBeLessThan(inForceMsMax);
    await override(api, project, { rate_limits: { read: 77 } });
    expect(await inForceAfterMs(project, '77')).toBeLessThan(inForceMsMax);
    await override(api, project, { rate_limits: { read: null } });
    expect(await inForceAfterMs(project, '1000000000')).toBeLessThan(inForceMsMax);
  });
});

const resetS = (headers: Headers) => /;t=(\d+)$/.exec(headers.get('ratelimit') ?? '')?.[1];
