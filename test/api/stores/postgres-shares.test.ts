import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { mintApiKey } from '../../../src/domains/auth/api-key-token.ts';
import type { ProjectOfFeedback } from '../../../src/domains/executions/index.ts';
import { FeedbackReads } from '../../../src/domains/feedback/feedback-reads.ts';
import { newId } from '../../../src/lib/ids.ts';
import { connectPostgres } from '../../../src/stores/postgres/client.ts';
import { expectProblem, newKey, newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import { encodeSpans } from '../../support/otlp-encode.ts';
import { type PostgresProxy, startPostgresProxy } from '../../support/postgres-proxy.ts';
import { aSpan } from '../../support/spans.ts';
import { listExecutions, postTraces } from '../../support/traces.ts';
import { until } from '../../support/until.ts';
import { newUser } from '../../support/users.ts';

/** What only these statements have. */
const statements = {
  keyLookUp: '"api_keys"."lookup_id"',
  projectLookUp: 'from "projects" inner join',
  promptNames: '"templateKeys"',
  modelPrices: 'from "model_prices"',
  parts: 'from "parts"',
  words: 'search like',
  feedbackOfPrompt: "target_type = 'prompt' and prompt_id",
  scores: 'avg(score) as score',
  tracesWithFeedback: 'array(select distinct trace_id from entries',
  feedbackList: 'extract(epoch from created_at)',
  similarParts: 'order by similarity(',
  run: 'from "optimization_runs"',
  partUsers: 'with recursive users',
  ratedCalls: 'as "atUs"',
};
/** Connections of the API for handlers: see src/clients.ts. */
const handlerConnections = 16;
/** One is looked up and 64 wait: see src/domains/auth/unknown-records.ts. */
const lookUpsOfOneAddress = 65;
/** One is looked up and 512 wait. */
const lookUpsOfOneUser = 513;

let proxy: PostgresProxy;
let api: TestApi;

beforeAll(async () => {
  proxy = await startPostgresProxy(inject('serviceDatabaseUrl'));
  api = await startApi({ databaseUrl: proxy.url });
});
afterEach(() => proxy.release());
afterAll(async () => {
  await api.close();
  await proxy.close();
});

const readPrices = ({ id, key }: ProjectOfTest) => api.call('getModelPrices', { params: { project_id: id }, key });

/** Well-formed, and of nobody. */
const randomKey = () => mintApiKey(randomBytes(16).toString('hex')).key;

test('keys that nobody has, many at once from one address: one query at a time, most are refused without, and a known key works', async () => {
  const project = await newProject(api);
  expect((await readPrices(project)).status).toBe(200);
  proxy.hold(statements.keyLookUp);
  let answered = 0;
  const flood = Array.from({ length: 100 }, () =>
    readPrices({ ...project, key: randomKey() }).finally(() => {
      answered += 1;
    }),
  );
  const refusals = flood.length - lookUpsOfOneAddress;
  await until('most are answered while one is looked up', 10_000, () => answered === refusals);
  expect([proxy.held(), proxy.asked()]).toEqual([1, 1]);
  expect((await readPrices(project)).status).toBe(200);
  expect(answered).toBe(refusals);

  proxy.release();
  const answers = await Promise.all(flood);
  const refused = answers.filter(({ status }) => status === 429);
  expect(refused).toHaveLength(refusals);
  for (const answer of refused) {
    expectProblem(answer, 429, 'rate_limited');
    expect(answer.headers.get('retry-after')).toBe('1');
  }
  for (const answer of answers.filter((each) => !refused.includes(each))) {
    expectProblem(answer, 401, 'invalid_credentials');
  }
  expect(proxy.asked()).toBe(lookUpsOfOneAddress);
});

test('projects that nobody has, many at once from one user: one query at a time, and others are answered', async () => {
  const project = await newProject(api);
  const member = { workspaceId: project.workspaceId, role: 'member' } as const;
  const [user, other] = [await newUser(api, member), await newUser(api, member)];
  const read = (id: string, { token }: { token: string }) =>
    api.call('getModelPrices', { params: { project_id: id }, token });
  for (const each of [user, other]) expect((await read(project.id, each)).status).toBe(200);
  proxy.hold(statements.projectLookUp);
  let answered = 0;
  const flood = Array.from({ length: 530 }, () =>
    read(newId('prj'), user).finally(() => {
      answered += 1;
    }),
  );
  const refusals = flood.length - lookUpsOfOneUser;
  await until('most are answered while one is looked up', 30_000, () => answered === refusals);
  expect(proxy.held()).toBe(1);
  expect((await read(project.id, user)).status).toBe(200);
  flood.push(read(newId('prj'), other));
  await until('one of another user is looked up meanwhile', 10_000, () => proxy.held() === 2);

  proxy.release();
  const statuses = (await Promise.all(flood)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 429)).toHaveLength(refusals);
  expect(statuses.filter((status) => status === 404)).toHaveLength(flood.length - refusals);
});

test('lists that name many prompts: a workspace has one look-up of them under way, and its other requests are answered', async () => {
  const [project, other] = [await newProject(api), await newProject(api)];
  const filter = () =>
    JSON.stringify({ field: 'prompt_id', op: 'in', value: Array.from({ length: 100 }, () => newId('prm')) });
  const list = (of: ProjectOfTest) => listExecutions(api, of, { filter: filter() });
  proxy.hold(statements.promptNames);
  const lists = Array.from({ length: 10 }, () => list(project));
  await until('prompts are looked up', 10_000, () => proxy.held() > 0);
  // By when the other lists have come as well.
  for (let n = 0; n < 10; n++) expect((await readPrices(project)).status).toBe(200);
  expect(proxy.held()).toBe(1);
  lists.push(list(other));
  await until('those of another workspace are looked up meanwhile', 10_000, () => proxy.held() === 2);

  proxy.release();
  for (const { status, text } of await Promise.all(lists)) expect(status, text).toBe(200);
  expect(proxy.asked()).toBe(lists.length);
});

const validate = ({ id, key }: ProjectOfTest, template: string) =>
  api.call('validatePrompt', { params: { project_id: id }, key, body: { template } });

/** Sends requests of one workspace while statements with `text` get no answer. Returns how many connections they hold. */
async function heldBy(project: ProjectOfTest, text: string, requests: () => Promise<unknown>[]) {
  expect((await readPrices(project)).status).toBe(200);
  proxy.hold(text);
  const all = requests();
  await until('statements are held', 10_000, () => proxy.held() > 0);
  // By when the other requests have come as well.
  for (let n = 0; n < 10; n++) expect((await readPrices(project)).status).toBe(200);
  return { all, connections: proxy.held() };
}

test('drafts that name many parts: a workspace has four look-ups of parts under way, and its other requests are answered', async () => {
  const [project, other] = [await newProject(api), await newProject(api)];
  const naming = (draft: number) => Array.from({ length: 50 }, (_, at) => `{{> unknown-${draft}-${at}}}`).join('');
  const drafts = () => Array.from({ length: 12 }, (_, draft) => validate(project, naming(draft)));
  const { all, connections } = await heldBy(project, statements.parts, drafts);
  expect(connections).toBe(4);
  all.push(validate(other, naming(0)));
  await until('those of another workspace are looked up meanwhile', 10_000, () => proxy.held() === 6);

  proxy.release();
  for (const answer of await Promise.all(all)) expect(answer).toMatchObject({ status: 200 });
});

test('renders whose parts are looked up again: a workspace has four look-ups of parts under way, and its other requests are answered', async () => {
  const [project, other] = [await newProject(api), await newProject(api)];
  const params = { project_id: project.id };
  const render = (slug: string) =>
    api.call('renderPrompt', {
      params: { ...params, prompt_id: slug },
      key: project.key,
      body: { on_missing: 'empty' },
    });
  const slugs = Array.from({ length: 8 }, (_, prompt) => `names-${prompt}`);
  for (const slug of slugs) {
    const template = Array.from({ length: 50 }, (_, at) => `{{> absent-${slug}-${at}}}`).join('');
    const body = { name: slug, slug, type: 'text', template };
    expect((await api.call('createPrompt', { params, key: project.key, body })).status).toBe(201);
    // Compiled, so that later renders only ask whether its parts are still absent.
    expect((await render(slug)).status).toBe(200);
  }
  proxy.hold(statements.parts);
  const renders: ReturnType<typeof render>[] = [];
  await until('parts are looked up again, after 0.8 s', 10_000, async () => {
    renders.push(...slugs.map(render));
    await readPrices(project);
    return proxy.held() > 0;
  });
  for (let n = 0; n < 10; n++) expect((await readPrices(project)).status).toBe(200);
  // Two renders of one prompt wait for one statement.
  const held = proxy.held();
  expect(held).toBeLessThanOrEqual(4);
  const neighbor = validate(other, '{{> absent}}');
  await until('those of another workspace are looked up meanwhile', 10_000, () => proxy.held() === held + 1);

  proxy.release();
  for (const answer of await Promise.all(renders)) expect([200, 429]).toContain(answer.status);
  expect(await neighbor).toMatchObject({ status: 200 });
});

test('drafts with unknown parts: a workspace has one search of similar parts under way, and its other requests are answered', async () => {
  const [project, other] = [await newProject(api), await newProject(api)];
  const drafts = () => Array.from({ length: 12 }, (_, at) => validate(project, `{{> unknown-${at}}}`));
  const { all, connections } = await heldBy(project, statements.similarParts, drafts);
  expect(connections).toBe(1);
  all.push(validate(other, '{{> unknown}}'));
  await until('that of another workspace is under way meanwhile', 10_000, () => proxy.held() === 2);

  proxy.release();
  for (const answer of await Promise.all(all)) expect(answer).toMatchObject({ status: 200 });
});

test('lists with words: a workspace has one under way, and its other requests are answered', async () => {
  const [project, other] = [await newProject(api), await newProject(api)];
  const list = (operationId: string, { id, key }: ProjectOfTest) =>
    api.call(operationId, { params: { project_id: id }, key, query: { q: 'zq' } });
  const lists = () => ['listPrompts', 'listParts', 'listPrompts'].map((operationId) => list(operationId, project));
  const { all, connections } = await heldBy(project, statements.words, lists);
  expect(connections).toBe(1);
  all.push(list('listPrompts', other));
  await until('that of another workspace is under way meanwhile', 10_000, () => proxy.held() === 2);

  proxy.release();
  for (const answer of await Promise.all(all)) expect(answer).toMatchObject({ status: 200 });
});

test('lists of feedback: a workspace has two under way, and its other requests are answered', async () => {
  const [project, other] = [await newProject(api), await newProject(api)];
  const list = ({ id, key }: ProjectOfTest) =>
    api.call('listFeedback', { params: { project_id: id }, key, query: { name: 'none' } });
  const lists = () => Array.from({ length: 5 }, () => list(project));
  const { all, connections } = await heldBy(project, statements.feedbackList, lists);
  expect(connections).toBe(2);
  all.push(list(other));
  await until('that of another workspace is under way meanwhile', 10_000, () => proxy.held() === 3);

  proxy.release();
  for (const answer of await Promise.all(all)) expect(answer).toMatchObject({ status: 200 });
});

test('lists of the users of a part: a workspace has two under way, and its other requests are answered', async () => {
  const project = await newProject(api);
  const params = { project_id: project.id };
  const body = { name: 'p', template: 'x' };
  const { id } = (await api.call<{ id: string }>('createPart', { params, key: project.key, body })).body;
  const read = () => api.call('listPartUsage', { params: { ...params, part_id: id }, key: project.key });
  const { all, connections } = await heldBy(project, statements.partUsers, () => Array.from({ length: 5 }, read));
  expect(connections).toBe(2);

  proxy.release();
  for (const answer of await Promise.all(all)) expect(answer).toMatchObject({ status: 200 });
});

test('runs with rows from executions: a workspace has one read of them under way, and its other requests are answered', async () => {
  const [project, other] = [await newProject(api), await newProject(api)];
  const plan = async ({ id, key }: ProjectOfTest) => {
    const body = { name: 'p', type: 'text', template: 'x {{q}}' };
    const prompt = await api.call<{ id: string }>('createPrompt', { params: { project_id: id }, key, body });
    const params = { project_id: id, prompt_id: prompt.body.id };
    return () => api.call('optimizePrompt', { params, key, body: { dry_run: true } });
  };
  const [begin, beginOther] = [await plan(project), await plan(other)];
  const { all, connections } = await heldBy(project, statements.ratedCalls, () => Array.from({ length: 4 }, begin));
  expect(connections).toBe(1);
  all.push(beginOther());
  await until('that of another workspace is under way meanwhile', 10_000, () => proxy.held() === 2);

  proxy.release();
  // Nothing is rated.
  for (const answer of await Promise.all(all)) expect(answer).toMatchObject({ status: 422 });
});

test('event streams that begin: a workspace has one look-up of runs under way, and its other requests are answered', async () => {
  const project = await newProject(api);
  const params = { project_id: project.id, prompt_id: newId('prm'), run_id: newId('opt') };
  const begin = () => api.call('streamOptimizationEvents', { params, key: project.key });
  const { all, connections } = await heldBy(project, statements.run, () => Array.from({ length: 50 }, begin));
  expect(connections).toBe(1);

  proxy.release();
  for (const answer of await Promise.all(all)) expect(answer).toMatchObject({ status: 404 });
});

test('scores: two statements of a workspace are under way, also when its reads no longer wait for them', async () => {
  const reads = feedbackReads();
  // In another project each time: Postgres is asked again after a second for each.
  let projects = 0;
  const read = (workspaceId: string) => {
    const projectId = `prj_scores_${projects++}`;
    reads.note(projectId);
    return reads.scoresOf({ workspaceId, projectId }, ['0'.repeat(32)]);
  };
  const readAll = () => Promise.all(Array.from({ length: 6 }, () => read('wsp_slow')));
  proxy.hold(statements.scores);
  expect((await readAll()).map(({ size }) => size)).toEqual([0, 0, 0, 0, 0, 0]);
  // Postgres is asked again after a second.
  for (let again = 0; again < 3; again++) {
    await until('reads wait again', 10_000, async () => {
      const startedAtMs = performance.now();
      await readAll();
      return performance.now() - startedAtMs > 500;
    });
  }
  expect([proxy.held(), proxy.asked()]).toEqual([2, 2]);
  const neighbor = read('wsp_other');
  await until('that of another workspace is under way meanwhile', 10_000, () => proxy.held() === 3);
  proxy.release();
  expect((await neighbor).size).toBe(0);
});

const { signal } = new AbortController();

test.each([
  [
    'feedback on a prompt, for its analytics',
    statements.feedbackOfPrompt,
    (reads: FeedbackReads, project: ProjectOfFeedback) =>
      reads.ofPrompt(project, { promptId: 'prm_of_the_test', fromMs: 0, toMs: Date.now(), max: 10 }, { signal }),
  ],
  [
    'executions with feedback, for lists',
    statements.tracesWithFeedback,
    (reads: FeedbackReads, project: ProjectOfFeedback) => reads.tracesWith(project, 0, 10, { signal }),
  ],
])('%s: a workspace has two statements under way, and each read gets its answer', async (_what, statement, read) => {
  const reads = feedbackReads();
  reads.note('prj_of_the_test');
  const readOf = (workspaceId: string) => read(reads, { workspaceId, projectId: 'prj_of_the_test' });
  proxy.hold(statement);
  const all = Array.from({ length: 6 }, () => readOf('wsp_slow'));
  await until('two are under way', 10_000, () => proxy.held() === 2);
  all.push(readOf('wsp_other'));
  await until('that of another workspace is under way too', 10_000, () => proxy.held() === 3);
  expect(proxy.asked()).toBe(3);
  proxy.release();
  expect(await Promise.all(all)).toEqual(all.map(() => []));
});

function feedbackReads(): FeedbackReads {
  const postgres = connectPostgres(proxy.url, handlerConnections);
  onTestFinished(() => postgres.destroy());
  return new FeedbackReads(postgres);
}

test('while slow statements hold every connection of the handlers, a key that comes for the first time is known', async () => {
  const projects = await Promise.all(Array.from({ length: 4 }, () => newProject(api)));
  const { key } = await newKey(api, (projects[0] as ProjectOfTest).id, { preset: 'ingest_only' });
  proxy.hold(statements.modelPrices);
  const reads = projects.flatMap((project) => Array.from({ length: 5 }, () => readPrices(project)));
  await until('all connections are held', 10_000, () => proxy.held() === handlerConnections);
  const { status } = await postTraces(api, key, Buffer.from(encodeSpans('protobuf', [aSpan()])));
  expect([status, proxy.held()]).toEqual([200, handlerConnections]);

  proxy.release();
  for (const { status: read, text } of await Promise.all(reads)) expect(read, text).toBe(200);
});
