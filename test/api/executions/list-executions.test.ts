import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../../src/lib/ids.ts';
import { expectProblem, newKey, newProject, type ProjectOfTest, startApi, type TestApi } from '../../support/api.ts';
import type { SpanInput } from '../../support/otlp-encode.ts';
import { aModelCall, aSpan, newSpanId, newTraceId } from '../../support/spans.ts';
import { listExecutions, sendSpans, untilStored } from '../../support/traces.ts';
import { until } from '../../support/until.ts';

let api: TestApi;

beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

/** An execution of one span that starts at this time. */
function spanAt(iso: string, given: Partial<SpanInput> = {}): SpanInput {
  const startUnixNano = BigInt(Date.parse(iso)) * 1_000_000n;
  return aSpan({ startUnixNano, endUnixNano: startUnixNano + 5_000_000n, ...given });
}

/** Sends the spans and waits until each one's execution is listed. */
async function storeAll(project: ProjectOfTest, spans: readonly SpanInput[]): Promise<void> {
  await sendSpans(api, project.key, spans);
  await until('all listed', 30_000, async () => {
    const listed = new Set(await listAll(project));
    return spans.every(({ traceId }) => listed.has(traceId));
  });
}

/** Every execution of the project since 1970, however many pages they take. */
async function listAll(project: ProjectOfTest): Promise<string[]> {
  // The offsets make it begin before the year 0 and end after 9999.
  const window = { from: '0000-01-01T00:00:00+05:00', to: '9999-12-31T23:59:59-05:00' };
  const traceIds: string[] = [];
  let cursor: string | undefined;
  do {
    const { body } = await listExecutions(api, project, { ...window, limit: 100, ...(cursor && { cursor }) });
    traceIds.push(...body.data.map(({ trace_id }) => trace_id));
    cursor = body.page.next_cursor ?? undefined;
  } while (cursor !== undefined);
  return traceIds;
}

async function namesIn(project: ProjectOfTest, query: Record<string, string | number>): Promise<string[]> {
  const { body, status, text } = await listExecutions(api, project, query);
  expect(status, text).toBe(200);
  return body.data.map(({ name }) => name);
}

describe('200', () => {
  test('a project without executions has an empty page', async () => {
    const { body } = await listExecutions(api, await newProject(api));
    expect([body.data, body.page]).toEqual([[], { next_cursor: null, has_more: false, limit: 20 }]);
  });

  test('executions come newest first with every field of the summary', async () => {
    const project = await newProject(api);
    const traceId = newTraceId();
    const rootId = newSpanId();
    const attributes = { 'session.id': 's-1', 'user.id': 'u-1', 'deployment.environment.name': 'prod' };
    await sendSpans(api, project.key, [
      aSpan({ traceId, spanId: rootId, name: 'older', attributes, statusCode: 1 }),
      aModelCall(42, 17, { traceId, parentSpanId: rootId, statusCode: 2 }),
    ]);
    await untilStored(api, project, traceId, 2);
    await storeAll(project, [aSpan({ name: 'newer', startUnixNano: BigInt(Date.now()) * 1_000_000n })]);

    const { body } = await until('both listed', 30_000, async () => {
      const answer = await listExecutions(api, project);
      return answer.body.data.length === 2 && answer.body.data[1]?.span_count === 2 && answer;
    });
    expect(body.data.map(({ name }) => name)).toEqual(['newer', 'older']);
    expect(body.data[1]).toMatchObject({
      trace_id: traceId,
      status: 'ok',
      span_count: 2,
      error_count: 1,
      models: ['gpt-4o'],
      providers: ['openai'],
      usage: { input_tokens: 42, output_tokens: 17, total_tokens: 59 },
      session_id: 's-1',
      user_id: 'u-1',
      complete: true,
    });
  });

  test('the window takes executions from `from` on and before `to`, and is echoed', async () => {
    const project = await newProject(api);
    const times = ['2026-03-01T10:00:00.000Z', '2026-03-01T11:00:00.000Z', '2026-03-01T12:00:00.000Z'];
    await storeAll(
      project,
      times.map((iso, index) => spanAt(iso, { name: `n${index}` })),
    );
    const [from = '', to = ''] = [times[0], times[2]];
    const { body } = await listExecutions(api, project, { from, to });
    expect([body.data.map(({ name }) => name), body.window]).toEqual([['n1', 'n0'], { from, to }]);
  });

  test('a window to beyond what spans can say takes the last of them, on every page', async () => {
    const project = await newProject(api);
    const startUnixNano = 2n ** 64n - 2n;
    const spans = [1, 2, 3].map(() => aSpan({ startUnixNano, endUnixNano: startUnixNano }));
    await storeAll(project, spans);
    const traceIds: string[] = [];
    let next: { cursor?: string } = {};
    for (let page = 0; page < 3; page++) {
      const window = { from: '2554-07-21T23:34:33Z', to: '9999-12-31T23:59:59Z' };
      const { body } = await listExecutions(api, project, { ...window, limit: 1, ...next });
      traceIds.push(...body.data.map(({ trace_id }) => trace_id));
      next = body.page.next_cursor === null ? {} : { cursor: body.page.next_cursor };
    }
    expect(traceIds.toSorted()).toEqual(spans.map(({ traceId }) => traceId).toSorted());
  });

  test('without a window the last seven days are taken and echoed', async () => {
    const project = await newProject(api);
    const dayMs = 24 * 3_600_000;
    const daysAgo = (days: number) => new Date(Date.now() - days * dayMs).toISOString();
    await storeAll(project, [spanAt(daysAgo(6.9), { name: 'in' }), spanAt(daysAgo(7.1), { name: 'out' })]);
    const { body } = await listExecutions(api, project);
    expect(body.data.map(({ name }) => name)).toEqual(['in']);
    expect(Date.parse(body.window.to) - Date.parse(body.window.from)).toBe(7 * dayMs);
    expect(Math.abs(Date.parse(body.window.to) - Date.now())).toBeLessThan(10_000);
  });

  test('a time with an offset is the same moment in UTC', async () => {
    const { body } = await listExecutions(api, await newProject(api), {
      from: '2026-03-01T10:00:00+02:00',
      to: '2026-03-01T10:00:00.5Z',
    });
    expect(body.window).toEqual({ from: '2026-03-01T08:00:00.000Z', to: '2026-03-01T10:00:00.500Z' });
  });

  test.each([
    ['0001-01-01T00:00:00Z', '9999-12-31T23:59:59Z', true],
    ['1969-01-01T00:00:00Z', '2600-01-01T00:00:00Z', true],
    ['1969-01-01T00:00:00Z', '1969-06-01T00:00:00Z', false],
    ['2600-01-01T00:00:00Z', '9999-12-31T23:59:59Z', false],
  ])(
    'a window from %s to %s, beyond what a span can say, is still a window (holds now: %s)',
    async (from, to, holds) => {
      const project = await newProject(api);
      await storeAll(project, [aSpan({ name: 'now' })]);
      expect(await namesIn(project, { from, to })).toEqual(holds ? ['now'] : []);
    },
  );

  test('`status` keeps only those of that status', async () => {
    const project = await newProject(api);
    const spans = [0, 1, 2].map((statusCode) => aSpan({ name: `code ${statusCode}`, statusCode }));
    await storeAll(project, spans);
    for (const [status, name] of [
      ['unset', 'code 0'],
      ['ok', 'code 1'],
      ['error', 'code 2'],
    ] as const) {
      expect(await namesIn(project, { status })).toEqual([name]);
    }
  });

  test('a walk gives each of 250 executions once, in order, while others are inserted', async () => {
    const project = await newProject(api);
    const minuteMs = 60_000;
    // Five share every start, so that the order within one time matters too.
    const spans = Array.from({ length: 250 }, (_, index) =>
      spanAt(new Date(Date.now() - minuteMs - Math.floor(index / 5) * 1_000).toISOString()),
    );
    await storeAll(project, spans);

    const seen: { traceId: string; startedAt: string }[] = [];
    let inserted = 0;
    let cursor: string | undefined;
    do {
      const { body } = await listExecutions(api, project, { limit: 17, ...(cursor && { cursor }) });
      seen.push(...body.data.map(({ trace_id, started_at }) => ({ traceId: trace_id, startedAt: started_at })));
      cursor = body.page.next_cursor ?? undefined;
      expect(body.page.has_more).toBe(cursor !== undefined);
      // One that is newer than all, one older than all, and one in the middle of what is being walked.
      const added = [0, 70, 130 * (inserted % 2)].map((secondsAgo) =>
        spanAt(new Date(Date.now() - minuteMs - secondsAgo * 1_000 + 1).toISOString()),
      );
      inserted += added.length;
      await sendSpans(api, project.key, added);
      await Promise.all(added.map(({ traceId }) => untilStored(api, project, traceId)));
    } while (cursor !== undefined);

    const traceIds = seen.map(({ traceId }) => traceId);
    expect(new Set(traceIds).size).toBe(traceIds.length);
    const walked = new Set(traceIds);
    expect(spans.filter(({ traceId }) => !walked.has(traceId))).toEqual([]);
    const starts = seen.map(({ startedAt }) => startedAt);
    expect(starts).toEqual(starts.toSorted().reverse());
    expect(inserted).toBeGreaterThan(30);
  });

  test.each([1, 100])('a limit of %i is taken', async (limit) => {
    const { body } = await listExecutions(api, await newProject(api), { limit });
    expect(body.page.limit).toBe(limit);
  });

  test('an operator sees any project', async () => {
    const project = await newProject(api);
    await storeAll(project, [aSpan({ name: 'seen' })]);
    const options = { params: { project_id: project.id } };
    const { data } = await api.admin<{ data: { name: string }[] }>('listExecutions', options, 200);
    expect(data.map(({ name }) => name)).toEqual(['seen']);
  });
});

describe('400', () => {
  let project: ProjectOfTest;
  let cursor: string;
  beforeAll(async () => {
    project = await newProject(api);
    await storeAll(project, [aSpan({ statusCode: 1 }), aSpan({ statusCode: 1 })]);
    const { body } = await listExecutions(api, project, { limit: 1, status: 'ok' });
    cursor = body.page.next_cursor ?? '';
    expect(cursor).not.toBe('');
  });

  test('a cursor goes on with the filter it was issued for', async () => {
    const { status, body } = await listExecutions(api, project, { status: 'ok', limit: 5, cursor });
    expect([status, body.data.length, body.page.has_more]).toEqual([200, 1, false]);
  });

  test.each([
    ['status', 'error'],
    ['from', '2026-01-01T00:00:00Z'],
    ['to', '2999-01-01T00:00:00Z'],
  ])('a cursor with another %s is cursor_mismatch', async (name, value) => {
    const answer = await listExecutions(api, project, { status: 'ok', limit: 1, cursor, [name]: value });
    expectProblem(answer, 400, 'cursor_mismatch');
  });

  test('a cursor of another project is cursor_mismatch', async () => {
    const answer = await listExecutions(api, await newProject(api), { status: 'ok', limit: 1, cursor });
    expectProblem(answer, 400, 'cursor_mismatch');
  });

  test('a cursor with any one character changed is invalid_cursor', async () => {
    for (const at of [0, 5, Math.floor(cursor.length / 2), cursor.length - 1]) {
      const changed = cursor.slice(0, at) + (cursor[at] === 'A' ? 'B' : 'A') + cursor.slice(at + 1);
      expectProblem(await listExecutions(api, project, { status: 'ok', cursor: changed }), 400, 'invalid_cursor');
    }
  });

  test.each(['', 'x', '../../etc', 'A'.repeat(200)])('the cursor "%s" is invalid_cursor', async (text) => {
    const answer = await listExecutions(api, project, { cursor: text });
    expectProblem(answer, 400, 'invalid_cursor');
  });

  test.each(['0', '101', '-1', '1.5', '1e1', 'ten', '', '99999999999999999999'])(
    'the limit "%s" is refused',
    async (limit) => {
      const problem = expectProblem(await listExecutions(api, project, { limit }), 400, 'invalid_parameter');
      expect(problem.errors).toContainEqual(expect.objectContaining({ path: 'limit' }));
    },
  );

  test.each([
    ['from', 'yesterday'],
    ['to', '2026-13-01T00:00:00Z'],
    ['to', '2026-01-01'],
    ['status', 'OK'],
    ['status', 'failed'],
  ])('%s=%s is refused, naming it', async (name, value) => {
    const problem = expectProblem(await listExecutions(api, project, { [name]: value }), 400, 'invalid_parameter');
    expect(problem.errors).toContainEqual(expect.objectContaining({ path: name }));
  });

  test('a window that ends before it begins is refused', async () => {
    const query = { from: '2026-01-02T00:00:00Z', to: '2026-01-01T00:00:00Z' };
    expectProblem(await listExecutions(api, project, query), 400, 'invalid_parameter');
  });

  test('an unknown parameter is refused, with the one that was meant', async () => {
    const problem = expectProblem(await listExecutions(api, project, { statuss: 'ok' }), 400, 'unknown_parameter');
    expect(problem.detail).toContain('status');
  });
});

describe('403', () => {
  test('a key without executions:read is refused', async () => {
    const project = await newProject(api);
    const { key } = await newKey(api, project.id, { preset: 'ingest_only' });
    const answer = await api.call('listExecutions', { params: { project_id: project.id }, key });
    expectProblem(answer, 403, 'insufficient_scope');
  });
});

describe('404', () => {
  test("another tenant's project is answered as one that does not exist, to the byte", async () => {
    const [mine, foreign] = [await newProject(api), await newProject(api)];
    await storeAll(foreign, [aSpan()]);
    const answers = await Promise.all(
      [foreign.id, newId('prj')].map((id) => api.call('listExecutions', { params: { project_id: id }, key: mine.key })),
    );
    const [known, unknown] = answers.map((answer) => {
      expectProblem(answer, 404, 'project_not_found');
      const { request_id, instance, ...rest } = answer.body;
      return JSON.stringify(rest);
    });
    expect(known).toBe(unknown);
  });

  test('an unknown project is 404 for the operator too', async () => {
    const options = { params: { project_id: newId('prj') }, adminKey: api.config.adminApiKey };
    expectProblem(await api.call('listExecutions', options), 404, 'project_not_found');
  });
});
