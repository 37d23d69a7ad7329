import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { connectClickHouse } from '../../../src/stores/clickhouse/client.ts';
import {
  expectProblem,
  newProject,
  type ProjectOfTest,
  type Query,
  startApi,
  type TestApi,
} from '../../support/api.ts';
import { anExecution, connectExecutions, noUsage } from '../../support/executions.ts';
import { aSpan, newSpanId, newTraceId, nowNano } from '../../support/spans.ts';
import { listExecutions, sendSpans, untilListed } from '../../support/traces.ts';

let api: TestApi;
let project: ProjectOfTest;
let executions: ReturnType<typeof connectExecutions>;

beforeAll(async () => {
  api = await startApi();
  executions = connectExecutions(api);
  project = await newProject(api);
  const startUnixNano = nowNano(-60_000);
  await executions.store([
    anExecution(project, {
      name: 'alpha',
      models: ['gpt-4o', 'o3'],
      providers: ['openai'],
      prompts: [{ id: 'prm_a', name: 'a', version: 1, key: '', calls: 1 }],
      usage: { ...noUsage, totalTokens: 100 },
      costNanoUsd: 5_000_000n,
      sessionId: 's-1',
      userId: 'u-1',
      environment: 'prod',
      service: 'web',
      tags: ['x', 'y'],
      startUnixNano,
      endUnixNano: startUnixNano + 1_500_000n,
    }),
    anExecution(project, {
      name: 'beta',
      status: 'error',
      errorCount: 2,
      models: ['gpt-4o'],
      providers: ['azure'],
      prompts: [
        { id: 'prm_a', name: 'a', version: 2, key: '', calls: 1 },
        { id: 'prm_b', name: 'b', version: 1, key: '', calls: 1 },
      ],
      usage: { ...noUsage, totalTokens: 200 },
      costNanoUsd: null,
      unpricedSpans: 1,
      sessionId: 's-2',
      userId: 'u-1',
      environment: 'dev',
      service: 'web',
      tags: ['x'],
      startUnixNano,
      endUnixNano: startUnixNano + 2_000_000_000n,
    }),
    anExecution(project, {
      name: "gamma's 100%_\\ {p0:String}",
      status: 'unset',
      errorCount: 1,
      complete: false,
      costNanoUsd: 1_000_000_000n,
      startUnixNano,
      endUnixNano: startUnixNano,
    }),
  ]);
});
afterAll(async () => {
  await executions.close();
  await api.close();
});

async function names(query: Query, of = project): Promise<string[]> {
  const { status, text, body } = await listExecutions(api, of, query);
  expect(status, text).toBe(200);
  return body.data.map(({ name }) => name.split("'")[0] ?? '').sort();
}

const tree = (node: unknown): Query => ({ filter: JSON.stringify(node) });

describe('query parameters', () => {
  test.each<[Query, string[]]>([
    [{ name: 'alpha' }, ['alpha']],
    [{ name: 'alph' }, []],
    [{ name: "gamma's 100%_\\ {p0:String}" }, ['gamma']],
    [{ model: 'gpt-4o' }, ['alpha', 'beta']],
    [{ model: 'o3' }, ['alpha']],
    [{ provider: 'azure' }, ['beta']],
    [{ prompt_id: 'prm_a' }, ['alpha', 'beta']],
    [{ prompt_id: 'prm_b' }, ['beta']],
    [{ prompt_version: 1 }, ['alpha', 'beta']],
    [{ prompt_id: 'prm_a', prompt_version: 1 }, ['alpha']],
    [{ session_id: 's-2' }, ['beta']],
    [{ user_id: 'u-1' }, ['alpha', 'beta']],
    [{ environment: 'prod' }, ['alpha']],
    [{ service: 'web' }, ['alpha', 'beta']],
    [{ tag: 'x' }, ['alpha', 'beta']],
    [{ tag: ['x', 'y'] }, ['alpha']],
    [{ min_duration_ms: 1.5 }, ['alpha', 'beta']],
    [{ min_duration_ms: '1.500001' }, ['beta']],
    [{ max_duration_ms: 1.5 }, ['alpha', 'gamma']],
    [{ max_duration_ms: 0 }, ['gamma']],
    [{ min_cost: '0.005' }, ['alpha', 'gamma']],
    [{ min_cost: '0.005000001' }, ['gamma']],
    [{ max_cost: '1' }, ['alpha', 'gamma']],
    [{ min_tokens: 100, max_tokens: 199 }, ['alpha']],
    [{ has_error: true }, ['beta', 'gamma']],
    [{ has_error: false }, ['alpha']],
    [{ has_feedback: true }, []],
    [{ has_feedback: false }, ['alpha', 'beta', 'gamma']],
    [{ user_id: 'u-1', has_error: true }, ['beta']],
  ])('%j gives %j', async (query, expected) => {
    expect(await names(query)).toEqual(expected);
  });

  test.each<[string, string]>([
    ['min_duration_ms', 'soon'],
    ['min_duration_ms', '-1'],
    ['max_duration_ms', '1e3'],
    ['min_cost', '1.0000000001'],
    ['max_cost', '$1'],
    ['min_tokens', '1.5'],
    ['prompt_version', 'latest'],
    ['has_error', 'yes'],
    ['has_feedback', '1'],
    ['name', ''],
    ['q', '!?'],
    ['q', Array.from({ length: 21 }, (_, index) => `w${index}`).join(' ')],
    ['include_total', 'maybe'],
  ])('%s=%s is refused, naming it', async (name, value) => {
    const problem = expectProblem(await listExecutions(api, project, { [name]: value }), 400, 'invalid_parameter');
    expect(problem.errors).toContainEqual(expect.objectContaining({ path: name }));
  });

  test('a parameter that is not repeatable is refused when repeated', async () => {
    const answer = await listExecutions(api, project, { name: ['alpha', 'beta'] });
    expectProblem(answer, 400, 'invalid_parameter');
  });

  test.each([
    ['tag', { tag: ['x', 'y'] }],
    ['min_cost', { min_cost: '0.1' }],
    ['attr.', { 'attr.k': 'v' }],
    ['filter', tree({ field: 'name', op: 'eq', value: 'alpha' })],
  ])('a cursor with another %s is cursor_mismatch', async (_, query) => {
    const { body } = await listExecutions(api, project, { limit: 1 });
    const answer = await listExecutions(api, project, { ...query, limit: 1, cursor: body.page.next_cursor ?? '' });
    expectProblem(answer, 400, 'cursor_mismatch');
  });
});

describe('fields and total', () => {
  test('`fields` gives just these', async () => {
    const { body } = await listExecutions(api, project, { fields: 'name,cost,usage', name: 'alpha' });
    expect(body.data).toEqual(
      [{ name: 'alpha', cost: '0.005', usage: expect.objectContaining({ total_tokens: 100 }) }].map((item) => ({
        ...item,
        cost: expect.stringMatching(/^0\.0050*$/),
      })),
    );
  });

  test('an unknown field is refused with the one that was meant', async () => {
    const problem = expectProblem(
      await listExecutions(api, project, { fields: 'name,cots' }),
      400,
      'invalid_parameter',
    );
    expect(problem.errors).toContainEqual({
      path: 'fields',
      code: 'invalid',
      message: expect.stringContaining('did you mean "cost"?'),
    });
  });

  test('of many unknown fields the first are reported, and a long list is refused unread', async () => {
    const refused = async (fields: string) =>
      expectProblem(await listExecutions(api, project, { fields }), 400, 'invalid_parameter').errors ?? [];
    const errors = await refused(Array.from({ length: 300 }, (_, index) => `n${index % 10}`).join());
    expect(errors).toHaveLength(10);
    expect(await refused('n,'.repeat(501))).toMatchObject([{ path: 'fields', code: 'too_big' }]);
  });

  test('`include_total` counts all pages, and only then there is a total', async () => {
    const counted = await listExecutions(api, project, { include_total: true, limit: 1, service: 'web' });
    expect(counted.body.page).toMatchObject({ total: 2, has_more: true });
    expect((await listExecutions(api, project)).body.page).not.toHaveProperty('total');
  });
});

describe('filter tree', () => {
  test.each<[unknown, string[]]>([
    [{ field: 'name', op: 'in', value: ['alpha', 'beta'] }, ['alpha', 'beta']],
    [{ field: 'name', op: 'nin', value: ['alpha'] }, ['beta', 'gamma']],
    [{ field: 'name', op: 'contains', value: '100%_\\' }, ['gamma']],
    [{ field: 'name', op: 'starts_with', value: 'be' }, ['beta']],
    [{ field: 'tag', op: 'ne', value: 'y' }, ['beta', 'gamma']],
    [{ field: 'tag', op: 'exists', value: true }, ['alpha', 'beta']],
    [{ field: 'cost', op: 'exists', value: false }, ['beta']],
    [{ field: 'cost', op: 'ne', value: 1 }, ['alpha', 'beta']],
    [{ field: 'cost', op: 'lte', value: '0.005' }, ['alpha']],
    [{ not: { field: 'cost', op: 'lte', value: '0.005' } }, ['beta', 'gamma']],
    [{ field: 'total_tokens', op: 'in', value: [100, 200] }, ['alpha', 'beta']],
    [{ field: 'started_at', op: 'gt', value: new Date(Date.now() + 1_000).toISOString() }, []],
    [{ field: 'prompt_id', op: 'in', value: ['prm_b', 'prm_z'] }, ['beta']],
    [{ field: 'status', op: 'in', value: ['ok', 'unset'] }, ['alpha', 'gamma']],
    [{ field: 'complete', op: 'eq', value: false }, ['gamma']],
    [{ and: [] }, ['alpha', 'beta', 'gamma']],
    [{ or: [] }, []],
    [
      {
        and: [
          { field: 'user_id', op: 'eq', value: 'u-1' },
          { or: [{ field: 'tag', op: 'eq', value: 'y' }, { not: { field: 'status', op: 'ne', value: 'error' } }] },
        ],
      },
      ['alpha', 'beta'],
    ],
  ])('%j gives %j', async (node, expected) => {
    expect(await names(tree(node))).toEqual(expected);
  });

  test.each([
    ['modle', 'model'],
    ['total_token', 'total_tokens'],
    ['usr_id', 'user_id'],
    ['zzzzzzzzzz', null],
  ])('the unknown field %s asks whether %s was meant', async (field, meant) => {
    const query = tree({ and: [{ field, op: 'eq', value: 'x' }] });
    const problem = expectProblem(await listExecutions(api, project, query), 400, 'unknown_filter_field');
    expect(problem.did_you_mean).toBe(meant);
    expect(problem.errors).toEqual([expect.objectContaining({ path: 'filter.and[0].field' })]);
  });

  test('a malformed filter is invalid_filter with the path', async () => {
    const query = tree({ or: [{ field: 'cost', op: 'gt', value: 'much' }] });
    const problem = expectProblem(await listExecutions(api, project, query), 400, 'invalid_filter');
    expect(problem.errors).toEqual([expect.objectContaining({ path: 'filter.or[0].value' })]);
  });
});

describe('what spans say', () => {
  let own: ProjectOfTest;
  const long = 'a value that is longer than what counts as short';

  beforeAll(async () => {
    own = await newProject(api);
    const [first, second, third] = [newTraceId(), newTraceId(), newTraceId()];
    const root = newSpanId();
    await sendSpans(api, own.key, [
      aSpan({ traceId: first, spanId: root, name: 'one', attributes: { plan: 'pro', 'user.plan': 'pro' } }),
      aSpan({
        traceId: first,
        parentSpanId: root,
        attributes: {
          retries: 3n,
          ratio: 0.25,
          exact: 0.123456789012,
          ok: true,
          note: long,
          'input.value': 'The quick\nBROWN fox; Żółw',
        },
      }),
      aSpan({
        traceId: second,
        name: 'two',
        attributes: { plan: 'free', retries: 12n, 'output.value': 'lazy brown dog' },
      }),
      aSpan({
        traceId: third,
        name: 'three',
        attributes: {
          'input.value': JSON.stringify([{ role: 'user', content: 'line\nbreak' }]),
          empty: '',
          list: ['a'],
        },
      }),
    ]);
    await Promise.all([first, second, third].map((traceId) => untilListed(api, own, traceId)));
  });

  test.each<[Query, string[]]>([
    [{ 'attr.plan': 'pro' }, ['one']],
    [{ 'attr.plan': 'PRO' }, []],
    [{ 'attr.nothing': 'pro' }, []],
    [{ 'attr.user.plan': 'pro' }, ['one']],
    [{ 'attr.retries': 3 }, ['one']],
    [{ 'attr.ratio': 0.25 }, ['one']],
    [{ 'attr.exact': '0.123456789012' }, ['one']],
    [{ 'attr.ok': true }, ['one']],
    [{ 'attr.note': long }, ['one']],
    [{ 'attr.empty': '' }, ['three']],
    [{ 'attr.plan': 'pro', 'attr.retries': 3 }, ['one']],
    [{ 'attr.plan': ['pro', 'free'] }, []],
    [{ q: 'brown' }, ['one', 'two']],
    [{ q: 'Brown QUICK' }, ['one']],
    [{ q: 'brow' }, []],
    [{ q: 'żółw' }, ['one']],
    [{ q: 'break' }, ['three']],
    [{ q: 'fox', 'attr.plan': 'pro' }, ['one']],
    [tree({ field: 'attr.plan', op: 'in', value: ['pro', 'free'] }), ['one', 'two']],
    [tree({ field: 'attr.note', op: 'in', value: [long, 'x'] }), ['one']],
    [tree({ field: 'attr.plan', op: 'ne', value: 'pro' }), ['three', 'two']],
    [tree({ field: 'attr.plan', op: 'exists', value: false }), ['three']],
    [tree({ field: 'attr.list', op: 'exists', value: true }), ['three']],
    [tree({ field: 'attr.note', op: 'contains', value: 'longer' }), ['one']],
    [tree({ field: 'attr.plan', op: 'starts_with', value: 'fr' }), ['two']],
    [tree({ field: 'attr.retries', op: 'gte', value: 4 }), ['two']],
    [tree({ not: { field: 'attr.plan', op: 'eq', value: 'pro' } }), ['three', 'two']],
  ])('%j gives %j', async (query, expected) => {
    expect(await names(query, own)).toEqual(expected);
  });

  test('a span that a resend has replaced is not found by what it said before', async () => {
    const resent = await newProject(api);
    const span = aSpan({ name: 'kept', attributes: { plan: 'old', note: `old ${long}`, 'input.value': 'before' } });
    await sendSpans(api, resent.key, [span, aSpan({ name: 'other', attributes: { plan: 'old' } })]);
    const { traceId = '' } = span;
    await untilListed(api, resent, traceId);
    await sendSpans(api, resent.key, [
      { ...span, attributes: { plan: 'new', note: `new ${long}`, 'input.value': 'after' } },
    ]);
    await untilListed(api, resent, traceId, ({ input_preview }) => input_preview === 'after');
    const found = await Promise.all([
      names({ 'attr.plan': 'old' }, resent),
      names({ 'attr.note': `old ${long}` }, resent),
      names({ q: 'before' }, resent),
      names({ 'attr.plan': 'new' }, resent),
      names(tree({ not: { field: 'attr.plan', op: 'eq', value: 'old' } }), resent),
    ]);
    expect(found).toEqual([['other'], [], [], ['kept'], ['kept']]);
    const counted = await listExecutions(api, resent, { 'attr.plan': 'old', include_total: true });
    expect(counted.body.page.total).toBe(1);
  });

  test('spans that came too fast to be indexed at once are found like any other', async () => {
    const fast = await newProject(api);
    const { traceId } = aSpan();
    const many = Array.from({ length: 1_200 }, () => aSpan({ traceId, name: 'many', attributes: { plan: 'pro' } }));
    await sendSpans(api, fast.key, many);
    await untilListed(api, fast, traceId, ({ span_count }) => span_count === many.length);
    expect(await names({ 'attr.plan': 'pro' }, fast)).toEqual(['many']);
    expect(await names({ 'attr.plan': 'free' }, fast)).toEqual([]);
  });

  test('short attributes are looked up in their index', async () => {
    const clickhouse = connectClickHouse(inject('clickhouseUrl'));
    const result = await clickhouse.query({
      query: `EXPLAIN indexes = 1 SELECT count() FROM spans
              WHERE hasAny(short_attribute_hashes, [reinterpretAsFixedString(cityHash64('plan', 'pro'))])`,
      format: 'TabSeparated',
    });
    expect(await result.text()).toContain('Name: short_attributes');
    await clickhouse.close();
  });

  test('a number is found by its JSON in any notation, also from 1e21 and -0', async () => {
    const own = await newProject(api);
    const doubles = [1e21, -1.5e300, -0, 0, 5e-324, 1e-7, 0.000001, 1e20, 0.1];
    const nameOf = (value: number) => (Object.is(value, -0) ? '-0' : String(value));
    const spans = doubles.map((value) => aSpan({ name: nameOf(value), attributes: { ratio: value } }));
    await sendSpans(api, own.key, [...spans, aSpan({ name: 'whole', attributes: { ratio: 1_234_567n } })]);
    for (const { traceId } of spans) await untilListed(api, own, traceId);
    const found = async (json: string) => {
      const filter = `{"field": "attr.ratio", "op": "eq", "value": ${json}}`;
      return (await listExecutions(api, own, { filter })).body.data.map(({ name }) => name);
    };
    const texts = [
      '1e21',
      '1E+21',
      '-1.5e+300',
      '-0',
      '-0.0',
      '0',
      '5e-324',
      '1e-7',
      '0.0000001',
      '1e-6',
      '1e20',
      '0.1',
    ];
    for (const text of texts) expect(await found(text), text).toEqual([nameOf(Number(text))]);
    expect(await found('1234567')).toEqual(['whole']);
  });

  test('an attribute without a key is refused', async () => {
    expectProblem(await listExecutions(api, own, { 'attr.': 'x' }), 400, 'invalid_parameter');
  });
});
