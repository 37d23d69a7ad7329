import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { FeedbackWire } from '../../../src/domains/executions/feedback.schema.ts';
import { newId } from '../../../src/lib/ids.ts';
import { expectProblem, newKey, newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import { giveFeedback, listFeedback, newFeedback, newFeedbackToken } from '../../support/feedback.ts';
import { newSpanId, newTraceId } from '../../support/spans.ts';
import { newUser, tokenFor } from '../../support/users.ts';

let api: TestApi;
let project: ProjectOfTest;

beforeAll(async () => {
  api = await startApi();
  project = await newProject(api);
});
afterAll(() => api.close());

const give = (body: object) => giveFeedback(api, project, body);
const onTrace = (given: object = {}) => ({ target_type: 'execution', trace_id: newTraceId(), rating: 'up', ...given });

async function newPrompt(): Promise<{ id: string; slug: string }> {
  const body = { name: newId('prm'), type: 'text', template: 'x' };
  return api.admin('createPrompt', { params: { project_id: project.id }, body }, 201);
}

describe('201', () => {
  test('every field comes back, before the trace has arrived', async () => {
    const [traceId, spanId] = [newTraceId(), newSpanId()];
    const given = {
      ...{ target_type: 'span', trace_id: traceId.toUpperCase(), span_id: spanId.toUpperCase(), name: 'quality' },
      ...{ value: 0.75, comment: 'good', correction: 'better', user_id: 'u-1', metadata: { a: { b: [1, null] } } },
    };
    const { status, body } = await give(given);
    expect([status, body]).toEqual([
      201,
      {
        ...{ ...given, trace_id: traceId, span_id: spanId, prompt_id: null, prompt_version: null, session_id: null },
        ...{ id: expect.stringMatching(/^fbk_/), rating: null, score: 0.75 },
        author: { type: 'api_key', id: expect.stringMatching(/^key_/) },
        ...{ created_at: expect.any(String), updated_at: expect.any(String) },
      },
    ]);
  });

  test('numbers of very many digits take no more bytes than were sent, and come back', async () => {
    const metadata = { numbers: Array.from({ length: 1_000 }, () => 9e307), small: 5e-324 };
    const { id, ...given } = await newFeedback(api, project, onTrace({ metadata }));
    expect(given.metadata).toEqual(metadata);
    const [stored] = await api
      .postgres('feedback')
      .where({ id })
      .select(api.postgres.raw('octet_length(metadata::text)'));
    expect(stored).toEqual({ octet_length: JSON.stringify(metadata).length });
  });

  test.each([
    [{ rating: 'up' }, 1],
    [{ rating: 'down' }, 0],
    [{ rating: 1 }, 0],
    [{ rating: 2 }, 0.25],
    [{ rating: 5 }, 1],
    [{ value: true }, 1],
    [{ value: false }, 0],
    [{ value: 0 }, 0],
    [{ value: 0.3 }, 0.3],
    [{ value: 7 }, null],
    [{ value: -0.1 }, null],
    [{ value: 'fine' }, null],
    [{ rating: 'down', value: 0.9 }, 0],
    [{ comment: 'x' }, null],
  ])('%j has the score %j', async (content, score) => {
    const { status, body } = await give({ target_type: 'execution', trace_id: newTraceId(), ...content });
    expect([status, body.score]).toEqual([201, score]);
    expect(body).toMatchObject(content);
  });

  test('a prompt is named by its id or slug, with a version or without', async () => {
    const { id, slug } = await newPrompt();
    const byId = await newFeedback(api, project, { target_type: 'prompt', prompt_id: id, value: 1 });
    expect([byId.prompt_id, byId.prompt_version]).toEqual([id, null]);
    const same = await give({ target_type: 'prompt', prompt_id: slug, value: 0 });
    expect([same.status, same.body.id]).toEqual([200, byId.id]);
    const ofVersion = await newFeedback(api, project, {
      ...{ target_type: 'prompt', prompt_id: slug, prompt_version: 1, value: 1 },
    });
    expect([ofVersion.prompt_id, ofVersion.prompt_version]).toEqual([id, 1]);
  });

  test('a session and the product are targets', async () => {
    const session = await newFeedback(api, project, { target_type: 'session', session_id: 's-1', rating: 4 });
    expect(session).toMatchObject({ session_id: 's-1', rating: 4, score: 0.75, name: 'user_feedback', user_id: null });
    const product = await newFeedback(api, project, { target_type: 'product', name: newId('evt'), comment: 'nice' });
    expect(product).toMatchObject({ target_type: 'product', trace_id: null, comment: 'nice' });
  });

  test('another name, user or target is another feedback', async () => {
    const first = onTrace();
    const others = [first, { ...first, name: 'other' }, { ...first, user_id: 'u' }, onTrace()];
    expect(await Promise.all(others.map(async (body) => (await give(body)).status))).toEqual([201, 201, 201, 201]);
  });

  test('of 20 at once on the same target by the same user, exactly one creates it', async () => {
    const body = onTrace({ user_id: 'u-20' });
    const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => give({ ...body, value: index })));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(19);
    const { data } = await listFeedback(api, project, { trace_id: body.trace_id });
    expect(data).toHaveLength(1);
  });

  test('a user gives feedback in the default project, or in the one that they name', async () => {
    const user = await newUser(api, { workspaceId: project.workspaceId, role: 'member' });
    const own = await api.call<FeedbackWire>('createFeedback', { token: user.token, body: onTrace() });
    expect([own.status, own.body.author], own.text).toEqual([201, { type: 'user', id: user.id }]);
    const { body: context } = await api.call<{ default_project_id: string }>('getContext', { token: user.token });
    const rows = await api.postgres('feedback').where({ id: own.body.id }).pluck('project_id');
    expect(rows).toEqual([context.default_project_id]);
    const body = onTrace({ project_id: project.id });
    const named = await api.call<FeedbackWire>('createFeedback', { token: user.token, body });
    expect(named.status, named.text).toBe(201);
    expect((await listFeedback(api, project, { trace_id: body.trace_id })).data[0]?.id).toBe(named.body.id);
  });

  test('two signed-in users who name no user_id keep their own feedback on the same target', async () => {
    const members = [1, 2].map(() => newUser(api, { workspaceId: project.workspaceId, role: 'member' }));
    const [first, second] = await Promise.all(members);
    const body = onTrace({ project_id: project.id });
    const say = (user: typeof first, rating: string) =>
      api.call<FeedbackWire>('createFeedback', { token: user?.token ?? '', body: { ...body, rating } });
    expect((await say(first, 'up')).status).toBe(201);
    expect((await say(second, 'down')).status).toBe(201);
    expect((await say(second, 'up')).status).toBe(200);
    const { data } = await listFeedback(api, project, { trace_id: body.trace_id });
    expect(data.map(({ user_id, rating }) => [user_id, rating])).toEqual([
      [second?.id, 'up'],
      [first?.id, 'up'],
    ]);
  });

  test('a token gives feedback from its header or from the body, also as text', async () => {
    const traceId = newTraceId();
    const token = await newFeedbackToken(api, project, traceId);
    const body = { target_type: 'execution', trace_id: traceId, rating: 'up' };
    const inHeader = await api.call<FeedbackWire>('createFeedback', { token, body });
    expect([inHeader.status, inHeader.body.author]).toEqual([201, { type: 'feedback_token', id: null }]);
    const inBody = await api.call<FeedbackWire>('createFeedback', { body: { ...body, feedback_token: token } });
    expect([inBody.status, inBody.body.id], inBody.text).toEqual([200, inHeader.body.id]);
    const beacon = await fetch(`${api.url}/api/feedback`, {
      method: 'POST',
      body: JSON.stringify({ ...body, span_id: newSpanId(), target_type: 'span', feedback_token: token }),
    });
    expect([beacon.status, beacon.headers.get('access-control-allow-origin')]).toEqual([201, '*']);
  });

  test('an Idempotency-Key gives the first response again', async () => {
    const [body, headers] = [onTrace(), { 'Idempotency-Key': newId('evt') }];
    const first = await api.call<FeedbackWire>('createFeedback', { key: project.key, body, headers });
    const again = await api.call<FeedbackWire>('createFeedback', { key: project.key, body, headers });
    expect([again.status, again.text]).toEqual([201, first.text]);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
  });

  test('two users who send the same under the same Idempotency-Key each give their feedback', async () => {
    const { id, workspaceId, key } = await newProject(api);
    const orgId = newId('wsp');
    await api.postgres('workspaces').where({ id: workspaceId }).update({ external_org_id: orgId });
    const [body, headers] = [onTrace({ project_id: id }), { 'Idempotency-Key': newId('evt') }];
    for (let times = 0; times < 2; times++) {
      const { subject } = await newUser(api, { workspaceId, role: 'member' });
      const token = tokenFor(api, subject, { org_id: orgId });
      const { status, headers: answered, text } = await api.call('createFeedback', { token, body, headers });
      expect([status, answered.get('idempotency-replayed')], text).toEqual([201, null]);
    }
    const { data } = await listFeedback(api, { id, workspaceId, key }, { trace_id: body.trace_id });
    expect(data).toHaveLength(2);
  });
});

describe('200', () => {
  test('an update replaces the fields that it contains, and null removes one', async () => {
    const body = onTrace({ comment: 'a', correction: 'b', metadata: { a: 1 } });
    const first = await newFeedback(api, project, body);
    const { status, body: second } = await give({
      ...body,
      rating: 'down',
      comment: null,
      correction: undefined,
      metadata: {},
    });
    expect(status).toBe(200);
    expect(second).toMatchObject({
      ...{ id: first.id, rating: 'down', score: 0, comment: null, correction: 'b', metadata: {} },
      created_at: first.created_at,
    });
    expect(second.updated_at > first.updated_at).toBe(true);
  });

  test('the holder of a token learns nothing that others said', async () => {
    const said = { user_id: 'u', comment: 'private', rating: 4, session_id: 'session of the user' };
    const body = onTrace(said);
    await newFeedback(api, project, body);
    const token = await newFeedbackToken(api, project, body.trace_id);
    const { status, body: seen } = await api.call<FeedbackWire>('createFeedback', {
      token,
      body: { target_type: 'execution', trace_id: body.trace_id, user_id: 'u', value: 0.5 },
    });
    expect([status, seen.comment, seen.value, seen.rating]).toEqual([200, null, 0.5, null]);
    expect([seen.score, seen.session_id, seen.created_at]).toEqual([null, null, seen.updated_at]);
    const { body: rated } = await api.call<FeedbackWire>('createFeedback', {
      token,
      body: { target_type: 'execution', trace_id: body.trace_id, user_id: 'u', rating: 2 },
    });
    expect(rated).toMatchObject({ score: 0.25, value: null });
  });
});

describe('400', () => {
  test('an unknown field is refused', async () => {
    expectProblem(await give(onTrace({ ratng: 1 })), 400, 'unknown_field');
  });
});

describe('401', () => {
  test('without credentials, whatever the body', async () => {
    for (const body of [onTrace(), {}, undefined]) {
      expectProblem(await api.call('createFeedback', { body }), 401, 'credentials_required');
    }
  });

  test('with a token that was changed, in the header or in the body', async () => {
    const traceId = newTraceId();
    const token = await newFeedbackToken(api, project, traceId);
    const bent = token.slice(0, -3) + (token.endsWith('AAA') ? 'BBB' : 'AAA');
    for (const wrong of [bent, 'fbt_', 'fbt_x', 'nonsense', `${token}=`]) {
      const body = onTrace({ trace_id: traceId });
      expectProblem(await api.call('createFeedback', { token: wrong, body }), 401, 'invalid_credentials');
      const inBody = { ...body, feedback_token: wrong };
      expectProblem(await api.call('createFeedback', { body: inBody }), 401, 'invalid_credentials');
    }
  });

  test('with two credentials', async () => {
    const traceId = newTraceId();
    const token = await newFeedbackToken(api, project, traceId);
    const body = onTrace({ trace_id: traceId, feedback_token: token });
    expectProblem(await give(body), 401, 'invalid_credentials');
  });

  test('with a feedback token on any other route', async () => {
    const token = await newFeedbackToken(api, project, newTraceId());
    const answer = await api.call('listFeedback', { token, params: { project_id: project.id } });
    expectProblem(answer, 401, 'invalid_credentials');
  });
});

describe('403', () => {
  test('a key without the scope', async () => {
    const { key } = await newKey(api, project.id, { scopes: ['executions:read'] });
    expectProblem(await api.call('createFeedback', { key, body: onTrace() }), 403, 'insufficient_scope');
  });

  test('a viewer of the named project', async () => {
    const { token } = await newUser(api, { workspaceId: project.workspaceId, role: 'viewer' });
    const body = onTrace({ project_id: project.id });
    expectProblem(await api.call('createFeedback', { token, body }), 403, 'insufficient_role');
  });

  test('a token on another trace or another kind of target', async () => {
    const traceId = newTraceId();
    const token = await newFeedbackToken(api, project, traceId);
    const { id } = await newPrompt();
    const session = { target_type: 'session', session_id: 's', trace_id: traceId, rating: 'up' };
    for (const body of [onTrace(), { ...session }, onTrace({ trace_id: traceId, prompt_id: id })]) {
      expectProblem(await api.call('createFeedback', { token, body }), 403, 'forbidden');
    }
  });
});

describe('404', () => {
  test('a project of another tenant is like one that does not exist', async () => {
    const other = await newProject(api);
    const { token } = await newUser(api, { workspaceId: project.workspaceId, role: 'owner' });
    for (const id of [other.id, newId('prj')]) {
      const body = onTrace({ project_id: id });
      for (const credential of [{ key: project.key }, { token }]) {
        expectProblem(await api.call('createFeedback', { ...credential, body }), 404, 'project_not_found');
      }
    }
  });

  test('an unknown prompt, and an unknown version of a prompt', async () => {
    const other = await newProject(api);
    const { id } = await newPrompt();
    const prompt = { target_type: 'prompt', value: 1 };
    expectProblem(await give({ ...prompt, prompt_id: newId('prm') }), 404, 'prompt_not_found');
    expectProblem(await giveFeedback(api, other, { ...prompt, prompt_id: id }), 404, 'prompt_not_found');
    expectProblem(await give({ ...prompt, prompt_id: id, prompt_version: 2 }), 404, 'version_not_found');
  });
});

describe('413', () => {
  test('a body over 16 KiB, with credentials or with a token in it', async () => {
    const body = onTrace({ comment: 'x'.repeat(17_000) });
    expectProblem(await give(body), 413, 'body_too_large');
    expectProblem(await api.call('createFeedback', { body }), 413, 'body_too_large');
  });
});

describe('422', () => {
  const deep = JSON.parse(`${'{"a":'.repeat(9)}1${'}'.repeat(9)}`);
  test.each([
    [{}, 'target_type'],
    [{ target_type: 'execution', rating: 'up' }, 'trace_id'],
    [{ target_type: 'span', trace_id: newTraceId(), rating: 'up' }, 'span_id'],
    [{ target_type: 'prompt', rating: 'up' }, 'prompt_id'],
    [{ target_type: 'session', rating: 'up' }, 'session_id'],
    [onTrace({ rating: undefined }), ''],
    [onTrace({ rating: null, comment: null }), ''],
    [onTrace({ rating: 6 }), 'rating'],
    [onTrace({ rating: 0 }), 'rating'],
    [onTrace({ rating: 1.5 }), 'rating'],
    [onTrace({ rating: 'good' }), 'rating'],
    [onTrace({ trace_id: '0'.repeat(32) }), 'trace_id'],
    [onTrace({ trace_id: 'xyz' }), 'trace_id'],
    [onTrace({ name: '' }), 'name'],
    [onTrace({ user_id: 'x'.repeat(256) }), 'user_id'],
    [onTrace({ comment: 'a\u0000b' }), 'comment'],
    [onTrace({ metadata: deep }), 'metadata'],
    [onTrace({ metadata: Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`k${i}`, i])) }), 'metadata'],
    [onTrace({ metadata: [1] }), 'metadata'],
    [onTrace({ metadata: { ['k'.repeat(257)]: 1 } }), 'metadata'],
    [onTrace({ prompt_version: 1 }), 'prompt_version'],
    [onTrace({ value: { a: 1 } }), 'value'],
  ])('%j is refused by its path', async (body, path) => {
    const problem = expectProblem(await give(body), 422, 'invalid_body');
    expect(problem.errors?.map((fault) => fault.path)).toContain(path);
  });

  test('a rating is told all that it may be', async () => {
    const problem = expectProblem(await give(onTrace({ rating: 4.5 })), 422, 'invalid_body');
    const message = 'must be "up", "down" or a whole number from 1 to 5; given 4.5';
    expect(problem.errors).toMatchObject([{ path: 'rating', message }]);
  });

  test('a number that no double holds', async () => {
    const response = await fetch(`${api.url}/api/feedback`, {
      method: 'POST',
      headers: { 'X-API-Key': project.key, 'Content-Type': 'application/json' },
      body: `{"target_type":"execution","trace_id":"${newTraceId()}","value":1e999}`,
    });
    expect(response.status).toBe(422);
  });

  test('the operator names the project', async () => {
    const adminKey = api.config.adminApiKey;
    expectProblem(await api.call('createFeedback', { adminKey, body: onTrace() }), 422, 'invalid_body');
    const named = await api.call('createFeedback', { adminKey, body: onTrace({ project_id: project.id }) });
    expect(named.status).toBe(201);
  });
});

describe('429', () => {
  test('a token has its own limit, so that a visitor cannot use up the writes of the workspace', async () => {
    const traceId = newTraceId();
    const token = await newFeedbackToken(api, project, traceId);
    const body = onTrace({ trace_id: traceId });
    const answers = await Promise.all(Array.from({ length: 31 }, () => api.call('createFeedback', { token, body })));
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(1);
    expect(refused[0]?.headers.get('access-control-allow-origin')).toBe('*');
    expect((await give(body)).status).toBe(200);
  });

  test('the tokens of many traces together may use half of the writes of the workspace', async () => {
    const project = await newProject(api, 'free');
    const tokens = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const traceId = newTraceId();
        return { token: await newFeedbackToken(api, project, traceId), body: onTrace({ trace_id: traceId }) };
      }),
    );
    const sent = Array.from({ length: 20 }, () => tokens).flat();
    const answers = await Promise.all(sent.map((each) => api.call('createFeedback', each)));
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(20);
    expect((await giveFeedback(api, project, onTrace())).status).toBe(201);
  });
});

test('what is stored is counted by target', async () => {
  const own = await startApi();
  const project = await newProject(own);
  const body = onTrace();
  for (let times = 0; times < 3; times++) await giveFeedback(own, project, body);
  const { text } = await own.call('getMetrics', { adminKey: own.config.adminApiKey });
  await own.close();
  expect(text).toMatch(/^feedback_total\{target="execution",outcome="created".*\} 1$/m);
  expect(text).toMatch(/^feedback_total\{target="execution",outcome="updated".*\} 2$/m);
  expect(text).toMatch(/^feedback_total\{target="product",outcome="created".*\} 0$/m);
});

describe('browsers of other origins', () => {
  const origin = { Origin: 'https://app.example' };
  const cors = (headers: Headers) => [...headers.keys()].filter((name) => name.startsWith('access-control-'));

  test('may ask first, and may read every response, errors included', async () => {
    const asked = { ...origin, 'Access-Control-Request-Method': 'POST' };
    const preflight = await fetch(`${api.url}/api/feedback`, { method: 'OPTIONS', headers: asked });
    expect([preflight.status, Object.fromEntries(preflight.headers)]).toMatchObject([
      204,
      {
        'access-control-allow-origin': '*',
        'access-control-allow-methods': 'POST, OPTIONS',
        'access-control-allow-headers': 'Content-Type, Authorization, Idempotency-Key',
        'access-control-max-age': '86400',
      },
    ]);
    expect(preflight.headers.has('access-control-allow-credentials')).toBe(false);
    const answers = [
      await api.call('createFeedback', { headers: origin }),
      await api.call('createFeedback', { headers: origin, key: project.key, body: {} }),
      await api.call('createFeedback', { headers: origin, key: project.key, body: { comment: 'x'.repeat(20_000) } }),
      await api.call('createFeedback', { headers: origin, key: project.key, body: onTrace() }),
      await fetch(`${api.url}/api/feedback`, { headers: origin }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([401, 422, 413, 201, 405]);
    for (const { headers } of answers) expect(headers.get('access-control-allow-origin')).toBe('*');
  });

  test('get no CORS header from any other route', async () => {
    for (const { path } of api.process.endpoints.filter((endpoint) => endpoint.path !== '/api/feedback')) {
      const url = `${api.url}${path.replaceAll(/[{}]/g, '')}`;
      const preflight = await fetch(url, { method: 'OPTIONS', headers: origin });
      expect(cors(preflight.headers), path).toEqual([]);
    }
    const listed = await api.call('listFeedback', {
      headers: origin,
      key: project.key,
      params: { project_id: project.id },
    });
    const unknown = await fetch(`${api.url}/api/feedback/x`, { headers: origin });
    expect([...cors(listed.headers), ...cors(unknown.headers)]).toEqual([]);
  });

  test('must send JSON on any other route', async () => {
    const response = await fetch(`${api.url}/api/projects/${project.id}/feedback-tokens`, {
      method: 'POST',
      headers: { 'X-API-Key': project.key },
      body: '{}',
    });
    expect(response.status).toBe(415);
  });
});
