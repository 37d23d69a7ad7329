import { describe, expect, test } from 'vitest';
import { optimizeLimits } from '../../../src/domains/optimization/optimize.schema.ts';
import { newId } from '../../../src/lib/ids.ts';
import { parseUsd } from '../../../src/lib/money.ts';
import { expectProblem, newKey, newProject, startApi } from '../../support/api.ts';
import { aBudget, getBudget, pricedCall, putBudget } from '../../support/budgets.ts';
import { getQuota, limitedProject, override } from '../../support/limits.ts';
import { watchLoop } from '../../support/loop-delay.ts';
import {
  type CreatedRunWire,
  finishedRun,
  inline,
  newOptimizablePrompt,
  rowsOf,
  useOptimizationApi,
} from '../../support/optimization.ts';
import { sendSpans, untilStored } from '../../support/traces.ts';
import { until } from '../../support/until.ts';
import { newUser } from '../../support/users.ts';

const it = useOptimizationApi();

interface DryRun extends Pick<CreatedRunWire, 'config' | 'plan' | 'warnings' | 'prompt_id' | 'base_version'> {
  dry_run: true;
}

const plan = (promptId: string, body: object = {}) => it.optimize<DryRun>(promptId, { dry_run: true, ...body });
const runsOf = (promptId: string) => it.api.postgres('optimization_runs').where('prompt_id', promptId);

describe('200', () => {
  test('a dry run shows the config with all defaults and the plan, and stores nothing', async () => {
    const prompt = await it.newPrompt();
    const { status, body, text } = await plan(prompt.id);
    expect(status, text).toBe(200);
    expect(body).toMatchObject({ dry_run: true, prompt_id: prompt.id, base_version: 1 });
    expect(body.config).toMatchObject({
      algorithm: 'reflective',
      dataset: { source: 'inline', filter: null },
      metrics: [{ type: 'exact_match' }],
      target: { model: 'gpt-4.1-mini', params: { temperature: 0, max_tokens: 1_024 }, samples_per_row: 1 },
      reflection: { model: 'sim-reflect', params: { temperature: 1, max_tokens: 8_192 } },
      budget: { max_calls: 500, max_tokens: null, max_cost_usd: null, max_duration_s: 3_600 },
      search: { max_iterations: 100, patience: 25, minibatch_size: 4, val_size: null, concurrency: 8 },
      ...{ holdout_fraction: 0.3, min_effect: 0, apply: 'never', seed: expect.any(Number) },
    });
    const { train, val, holdout, dropped, unused } = body.plan.rows;
    // By the hashes of some prompts, more rows belong to the holdout than it has room for.
    expect([train + val + holdout + unused, dropped]).toEqual([60, 0]);
    expect(body.plan.reserved_for_holdout_calls).toBe(2 * holdout);
    expect(body.plan.estimated_proposals[1]).toBeGreaterThanOrEqual(body.plan.estimated_proposals[0]);
    expect(body.warnings.map(({ code }) => code)).toContain('metric_inferred');
    expect(await runsOf(prompt.id)).toEqual([]);
  });

  test('the cost is estimated when the models have a price, and may be limited then', async () => {
    const prompt = await it.newPrompt();
    const priced = { reflection: { model: 'gpt-4.1' }, budget: { max_cost_usd: 2.5 } };
    const { body } = await plan(prompt.id, priced);
    expect(body.config.budget.max_cost_usd).toBe('2.500000');
    const [low, high] = body.plan.estimated_cost_usd ?? [];
    expect(Number(low)).toBeGreaterThan(0);
    expect(Number(high)).toBeGreaterThanOrEqual(Number(low));
    expect(body.warnings.map(({ code }) => code)).not.toContain('price_unknown');
    expect((await plan(prompt.id)).body.warnings.map(({ code }) => code)).toContain('price_unknown');
  });

  test('the same rows are divided equally whatever the seed, and rows that cannot be used are counted', async () => {
    const prompt = await it.newPrompt();
    const rows = [...rowsOf(50), ...rowsOf(5), { inputs: { other: 'x' }, expected: 'yes' }];
    const [a, b] = [
      await plan(prompt.id, { ...inline(rows), seed: 1 }),
      await plan(prompt.id, { ...inline(rows), seed: 2 }),
    ];
    expect(a.body.plan.rows).toEqual(b.body.plan.rows);
    expect(a.body.plan.rows.dropped).toBe(6);
    expect(a.body.warnings.map(({ code }) => code)).toEqual(
      expect.arrayContaining(['rows_without_variables', 'duplicate_rows']),
    );
  });

  test('rows that the input schema refuses are not used', async () => {
    const input_schema = { type: 'object', properties: { question: { type: 'string' } } };
    const prompt = await it.newPrompt({ input_schema });
    const { body } = await plan(prompt.id, inline([...rowsOf(30), { inputs: { question: 7 }, expected: 'yes' }]));
    expect(body.plan.rows.dropped).toBe(1);
    expect(body.warnings.map(({ code }) => code)).toContain('invalid_rows');
  });

  test('the version, its parameters and the slug of the prompt can be named', async () => {
    const prompt = await it.newPrompt({ config: { model: 'first', params: { temperature: 0.5, tools: [] } } });
    await it.call('updatePrompt', prompt.id, { body: { config: { model: 'second' } } });
    const { body } = await plan(prompt.slug, { base_version: 1 });
    expect(body).toMatchObject({ base_version: 1, prompt_id: prompt.id });
    expect(body.config.target).toMatchObject({ model: 'first', params: { temperature: 0.5, max_tokens: 1_024 } });
    expect(body.config.target.params).not.toHaveProperty('tools');
  });
});

describe('202', () => {
  test('the run is stored with its rows, and waits for a worker', async () => {
    const prompt = await it.newPrompt();
    const { status, body, headers, text } = await it.optimize(prompt.id);
    expect(status, text).toBe(202);
    const self = `/api/projects/${it.project.id}/prompts/${prompt.id}/optimization-runs/${body.run_id}`;
    expect(body).toMatchObject({
      id: body.run_id,
      status: 'queued',
      prompt_id: prompt.id,
      base_version: 1,
      links: { self },
    });
    expect(body.run_id).toMatch(/^opt_/);
    expect(headers.get('location')).toBe(self);
    const rows = await it.api.postgres('optimization_rows').where('run_id', body.run_id);
    expect(rows).toHaveLength(60);
    const events = await it.api
      .postgres('optimization_events')
      .where('run_id', body.run_id)
      .orderBy('seq')
      .select('seq', 'type', 'data');
    // A worker may have begun it meanwhile.
    expect(events[0]).toEqual({ seq: 1, type: 'state', data: { status: 'queued' } });
    const log = await it.api.postgres('audit_log').where('target_id', body.run_id).pluck('action');
    expect(log).toEqual(['optimization_run.created']);
  });

  test('the same request with the same key starts one run', async () => {
    const prompt = await it.newPrompt();
    const headers = { 'Idempotency-Key': `run-${prompt.id}` };
    const first = await it.optimize(prompt.id, {}, { headers });
    const second = await it.optimize(prompt.id, {}, { headers });
    expect([first.status, second.status]).toEqual([202, 202]);
    expect(second.body).toEqual(first.body);
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect(second.headers.get('location')).toBe(first.headers.get('location'));
    expect(await runsOf(prompt.id)).toHaveLength(1);
    expectProblem(await it.optimize(prompt.id, { seed: 3 }, { headers }), 422, 'idempotency_key_reused');
  });

  test('a quota without room for more counts this run, and a refused one is not counted', async () => {
    const project = await limitedProject(it.api, { quotas: { optimization_runs: 5 } });
    const prompt = await newOptimizablePrompt(it.api, project);
    const params = { project_id: project.id, prompt_id: prompt.id };
    const send = (rows: number) =>
      it.api.call('optimizePrompt', { key: project.key, params, body: inline(rowsOf(rows)) });
    expect((await send(3)).status).toBe(422);
    expect((await send(30)).status).toBe(202);
    expect((await send(30)).status).toBe(409);
    const used = (await getQuota(it.api, project)).limits.find(({ resource }) => resource === 'optimization_runs');
    expect(used).toMatchObject({ used: 1, remaining: 4 });
  });

  test('what the run may spend is reserved of the budget until the run ends', async () => {
    const project = await newProject(it.api);
    const prompt = await newOptimizablePrompt(it.api, project);
    await putBudget(it.api, project, { ...aBudget, amount: '10', enforcement: 'block_optimize' });
    const options = { key: project.key, params: { project_id: project.id, prompt_id: prompt.id } };
    const body = { ...inline(rowsOf(30)), reflection: { model: 'gpt-4.1' }, budget: { max_cost_usd: '4' } };
    const run = await it.api.call<CreatedRunWire>('optimizePrompt', { ...options, body });
    expect(run.status, run.text).toBe(202);
    expect((await getBudget(it.api, project)).body.reserved).toBe('4.000000');
    // However long it waits.
    const ends = await it.api.postgres('budget_reservations').where('project_id', project.id).first('expires_at');
    expect(ends.expires_at).toBe(Number.POSITIVE_INFINITY);
    await finishedRun(it.api, project, run.body);
    expect((await getBudget(it.api, project)).body.reserved).toBe('0.000000');
  });

  test.each([
    ['block_optimize', 'what was reserved'],
    ['none', null],
  ])(
    'without max_cost_usd, a run under a budget with %s may cost %s, and its config has no limit',
    async (enforcement, held) => {
      const project = await newProject(it.api);
      const prompt = await newOptimizablePrompt(it.api, project);
      await putBudget(it.api, project, { ...aBudget, amount: '1000', enforcement });
      const options = { key: project.key, params: { project_id: project.id, prompt_id: prompt.id } };
      const body = { ...inline(rowsOf(30)), reflection: { model: 'gpt-4.1' } };
      const run = await it.api.call<CreatedRunWire>('optimizePrompt', { ...options, body });
      expect(run.status, run.text).toBe(202);
      const reserved = (await getBudget(it.api, project)).body.reserved;
      expect(reserved).toBe(run.body.plan.estimated_cost_usd?.[1]);
      const stored = await runsOf(prompt.id).first('limit_nano_usd');
      expect(stored.limit_nano_usd).toBe(held && String(parseUsd(reserved)));
      expect(run.body.config.budget.max_cost_usd).toBeNull();
    },
  );

  test.each([
    [
      'that reflects with a model without a price may cost what its other calls cost',
      {},
      (limit: bigint) => limit > 0n,
    ],
    [
      'of which no model has a price may make calls that cost nothing',
      { target: { model: 'sim-task' } },
      (limit: bigint) => limit === 0n,
    ],
  ])('under a budget that blocks, a run %s', async (_what, body, isWanted) => {
    const project = await newProject(it.api);
    const prompt = await newOptimizablePrompt(it.api, project);
    await putBudget(it.api, project, { ...aBudget, amount: '1000', enforcement: 'block_optimize' });
    const options = { key: project.key, params: { project_id: project.id, prompt_id: prompt.id } };
    const run = await it.api.call<CreatedRunWire>('optimizePrompt', {
      ...options,
      body: { ...inline(rowsOf(30)), ...body },
    });
    expect(run.status, run.text).toBe(202);
    expect(run.body.plan.estimated_cost_usd).toBeNull();
    const stored = await runsOf(prompt.id).first('limit_nano_usd', 'budget_reservation_id');
    expect(isWanted(BigInt(stored.limit_nano_usd))).toBe(true);
    expect(stored.budget_reservation_id).not.toBeNull();
  });

  test('a limit that leaves nothing for proposals is warned of, and the plan has none', async () => {
    const prompt = await it.newPrompt();
    const { status, body, text } = await plan(prompt.id, { budget: { max_tokens: 15_000 } });
    expect(status, text).toBe(200);
    expect(body.plan.estimated_proposals[0]).toBe(0);
    const warning = body.warnings.find(({ code }) => code === 'low_budget');
    expect(warning?.message).toMatch(/^max_tokens=15000 supports about 0 proposals .* \d+ is recommended\.$/);
  });

  test('the largest data set is stored without holding up the event loop', async () => {
    const prompt = await it.newPrompt();
    const question = 'long '.repeat(800);
    const rows = rowsOf(optimizeLimits.rowsMax, (index) => ({ inputs: { question: `${question} ${index}` } }));
    const json = JSON.stringify(inline(rows));
    const parsedAtMs = performance.now();
    JSON.parse(json);
    const parseMs = performance.now() - parsedAtMs;
    const loop = watchLoop();
    const { status, body, text } = await it.optimize(prompt.id, inline(rows));
    const longestMs = loop.stop();
    expect(status, text.slice(0, 500)).toBe(202);
    const { train, val, holdout, unused } = body.plan.rows;
    expect(train + val + holdout + unused).toBe(optimizeLimits.rowsMax);
    // The client of this test, in the same process, makes the text and parses as much as the service.
    expect(longestMs).toBeLessThan(Math.max(100, 6 * parseMs));
  });

  test('a metric for the largest expected texts is chosen without holding up the event loop', async () => {
    const prompt = await it.newPrompt();
    const expected = `[${'[],'.repeat(1_600)}0]`;
    const body = { ...inline(rowsOf(optimizeLimits.rowsMax, () => ({ expected }))), budget: { max_calls: 5 } };
    const loop = watchLoop();
    const answer = await plan(prompt.id, body);
    const longestMs = loop.stop();
    expectProblem(answer, 422, 'budget_too_small');
    expect(longestMs).toBeLessThan(150);
  });
});

describe('400', () => {
  test.each([
    ['at the top', { budgets: {} }],
    ['in a row', inline([{ input: { question: 'x' } }, ...rowsOf(20)])],
    ['in the options of a metric', { metrics: [{ type: 'exact_match', options: { cut: true } }] }],
    ['of a filter', { dataset: { source: 'executions', filter: { since: 1 } } }],
  ])('an unknown field %s', async (_where, body) => {
    expectProblem(await it.optimize((await it.newPrompt()).id, body), 400, 'unknown_field');
  });

  test('JSON that is nested deeply', async () => {
    const prompt = await it.newPrompt();
    const url = `${it.api.url}/api/projects/${it.project.id}/prompts/${prompt.id}/optimize`;
    const headers = { 'X-API-Key': it.project.key, 'Content-Type': 'application/json' };
    const deep = `{"dataset":{"source":"inline","rows":${'['.repeat(50_000)}${']'.repeat(50_000)}}}`;
    const response = await fetch(url, { method: 'POST', headers, body: deep });
    expect([response.status, JSON.parse(await response.text()).code]).toEqual([400, 'json_too_deep']);
  });
});

describe('402', () => {
  test('the quota of the plan is used up', async () => {
    const project = await limitedProject(it.api, { quotas: { optimization_runs: 1 } });
    const call = async () => {
      const { id } = await newOptimizablePrompt(it.api, project);
      const params = { project_id: project.id, prompt_id: id };
      return it.api.call('optimizePrompt', { key: project.key, params, body: inline(rowsOf(30)) });
    };
    expect((await call()).status).toBe(202);
    expectProblem(await call(), 402, 'quota_exceeded');
    expect(await it.api.postgres('optimization_runs').where('project_id', project.id)).toHaveLength(1);
    await override(it.api, project, { quotas: { optimization_runs: 2 } });
    await until('the override is in force', 5_000, async () => (await call()).status === 202);
  });

  test('without quota left, a request is refused before its rows are read, and a dry run is not', async () => {
    const project = await limitedProject(it.api, { quotas: { optimization_runs: 0 } });
    const prompt = await newOptimizablePrompt(it.api, project);
    const params = { project_id: project.id, prompt_id: prompt.id };
    const send = (body: object) => it.api.call('optimizePrompt', { key: project.key, params, body });
    const executions = { dataset: { source: 'executions' } };
    expect(expectProblem(await send(executions), 402, 'quota_exceeded')).toMatchObject({
      ...{ resource: 'optimization_runs', limit: 0, used: 0 },
    });
    expectProblem(await send({ ...executions, dry_run: true }), 422, 'insufficient_data');
  });

  test('the budget of the project has no room for the run', async () => {
    const project = await newProject(it.api);
    const prompt = await newOptimizablePrompt(it.api, project);
    await putBudget(it.api, project, { ...aBudget, amount: '1', enforcement: 'block_optimize' });
    const params = { project_id: project.id, prompt_id: prompt.id };
    const body = { ...inline(rowsOf(30)), reflection: { model: 'gpt-4.1' }, budget: { max_cost_usd: '2' } };
    const problem = expectProblem(
      await it.api.call('optimizePrompt', { key: project.key, params, body }),
      402,
      'budget_exceeded',
    );
    expect(problem).toMatchObject({ amount: '1.000000', spend: '0.000000', needed: '2.000000' });
    expect(problem.detail).toContain('may cost up to 2.000000 USD, and the budget of the project has 1.000000');
    expect((await getBudget(it.api, project)).body.reserved).toBe('0.000000');
  });

  test('a scope of the budget for the prompt has no room for the run', async () => {
    const project = await newProject(it.api);
    const prompt = await newOptimizablePrompt(it.api, project);
    const scopes = [{ by: 'prompt', value: prompt.slug, amount: '1' }];
    await putBudget(it.api, project, { ...aBudget, amount: '1000', scopes, enforcement: 'block_optimize' });
    const params = { project_id: project.id, prompt_id: prompt.id };
    const body = { ...inline(rowsOf(30)), reflection: { model: 'gpt-4.1' }, budget: { max_cost_usd: '100' } };
    const answer = await it.api.call('optimizePrompt', { key: project.key, params, body });
    expect(expectProblem(answer, 402, 'budget_exceeded')).toMatchObject({
      ...{ amount: '1.000000', needed: '100.000000', scope: { by: 'prompt', value: prompt.slug } },
    });
  });

  test('the budget of the project is used up', async () => {
    const project = await newProject(it.api);
    const prompt = await newOptimizablePrompt(it.api, project);
    const spent = pricedCall(2_000_000_000n);
    await sendSpans(it.api, project.key, [spent]);
    await untilStored(it.api, project, spent.traceId);
    await putBudget(it.api, project, { ...aBudget, amount: '1', enforcement: 'block_optimize' });
    await until('the spend is known', 10_000, async () => (await getBudget(it.api, project)).body.state === 'exceeded');
    const params = { project_id: project.id, prompt_id: prompt.id };
    const answer = await it.api.call('optimizePrompt', { key: project.key, params, body: inline(rowsOf(30)) });
    expectProblem(answer, 402, 'budget_exceeded');
  });
});

describe('403', () => {
  test('a key needs optimize:run, and a user must be more than a viewer', async () => {
    const prompt = await it.newPrompt();
    const { key } = await newKey(it.api, it.project.id, { scopes: ['prompts:read', 'prompts:write'] });
    expectProblem(await it.optimize(prompt.id, {}, { key }), 403, 'insufficient_scope');
    const { token } = await newUser(it.api, { workspaceId: it.project.workspaceId, role: 'viewer' });
    const params = { project_id: it.project.id, prompt_id: prompt.id };
    const answer = await it.api.call('optimizePrompt', { token, params, body: inline(rowsOf(30)) });
    expectProblem(answer, 403, 'insufficient_role');
  });
});

describe('404', () => {
  test('an unknown prompt, an unknown version, and the prompt of another project', async () => {
    expectProblem(await it.optimize(newId('prm')), 404, 'prompt_not_found');
    expectProblem(await it.optimize((await it.newPrompt()).id, { base_version: 9 }), 404, 'version_not_found');
    const other = await newOptimizablePrompt(it.api, await newProject(it.api));
    expectProblem(await it.optimize(other.id), 404, 'prompt_not_found');
  });
});

describe('409', () => {
  test('a prompt has one run at a time, also when requests come together', async () => {
    const prompt = await it.newPrompt();
    const answers = await Promise.all([1, 2, 3, 4].map(() => it.optimize(prompt.id)));
    expect(answers.map(({ status }) => status).sort()).toEqual([202, 409, 409, 409]);
    const [run] = await runsOf(prompt.id);
    const again = await it.optimize(prompt.id);
    expect(expectProblem(again as never, 409, 'run_in_progress')).toMatchObject({ run_id: run.id });
    await finishedRun(it.api, it.project, { run_id: run.id });
    expect((await it.optimize(prompt.id)).status).toBe(202);
  });
});

describe('413', () => {
  test('more rows than a run takes', async () => {
    const prompt = await it.newPrompt();
    const answer = await it.optimize(prompt.id, inline(rowsOf(optimizeLimits.rowsMax + 1)));
    expect(expectProblem(answer as never, 413, 'dataset_too_large')).toMatchObject({ limit: 1_000, rows: 1_001 });
  });

  test('a body over its limit', async () => {
    const prompt = await it.newPrompt();
    const rows = rowsOf(30, (index) => ({ inputs: { question: `${'x'.repeat(200_000)}${index}` } }));
    expectProblem(await it.optimize(prompt.id, inline(rows)), 413, 'body_too_large');
  });
});

describe('metrics that take long to compile', () => {
  // Some 50 ms each, so that they are slow on a fast machine too.
  const slow = `(?i)${'\\pL'.repeat(600)}`;
  const properties = Object.fromEntries(
    Array.from({ length: 20 }, (_, index) => [`k${index}`, { pattern: `${slow}${index}` }]),
  );
  test.each([
    [
      'patterns',
      Array.from({ length: 10 }, (_, index) => ({ type: 'regex', options: { pattern: `${slow}${index}` } })),
    ],
    ['a schema', [{ type: 'json_schema', options: { schema: { properties } } }]],
  ])('%s are refused, and hold nobody up', async (_what, metrics) => {
    const prompt = await it.newPrompt();
    await plan(prompt.id, { metrics: [{ type: 'regex', options: { pattern: 'a' } }] });
    const loop = watchLoop();
    const answer = await plan(prompt.id, { metrics });
    const longestMs = loop.stop();
    expectProblem(answer, 422, 'invalid_metric');
    expect(answer.text).toContain('takes longer than');
    expect(longestMs).toBeLessThan(100);
  });

  test('more than 64 KiB of them are refused', async () => {
    const prompt = await it.newPrompt();
    const metrics = [{ type: 'json_schema', options: { schema: { description: 'x'.repeat(70_000) } } }];
    expectProblem(await plan(prompt.id, { metrics }), 422, 'invalid_body');
  });

  test('parameters of more than 16 KiB are refused', async () => {
    const prompt = await it.newPrompt();
    expectProblem(await plan(prompt.id, { target: { params: { x: 'y'.repeat(20_000) } } }), 422, 'invalid_body');
  });
});

describe('422', () => {
  test.each([
    ['5 rows', inline(rowsOf(5)), 'insufficient_data'],
    ['rows with the same inputs', inline(rowsOf(20, () => ({ inputs: { question: 'same' } }))), 'insufficient_data'],
    ['rows of one split', inline(rowsOf(30, () => ({ split: 'train' }))), 'insufficient_data'],
    ['executions of a prompt that has none', { dataset: { source: 'executions' } }, 'insufficient_data'],
    [
      'a metric without what it needs',
      { ...inline(rowsOf(30, () => ({ expected: null }))), metrics: [{ type: 'exact_match' }] },
      'metric_needs_expected',
    ],
    ['a pattern that does not compile', { metrics: [{ type: 'regex', options: { pattern: '(' } }] }, 'invalid_metric'],
    [
      'a pattern with a back-reference',
      { metrics: [{ type: 'regex', options: { pattern: '(a)\\1' } }] },
      'invalid_metric',
    ],
    [
      'a schema that does not compile',
      { metrics: [{ type: 'json_schema', options: { schema: { type: 'nothing' } } }] },
      'invalid_metric',
    ],
    ['too few calls', { budget: { max_calls: 20 } }, 'budget_too_small'],
    [
      'a scale that is too wide to divide',
      { metrics: [{ type: 'llm_judge', options: { criteria: 'x', scale: [-1e308, 1e308] } }] },
      'invalid_body',
    ],
    ['too few tokens', { budget: { max_tokens: 10 } }, 'budget_too_small'],
    [
      'too little cost',
      { target: { model: 'gpt-4.1' }, reflection: { model: 'gpt-4.1' }, budget: { max_cost_usd: '0.000001' } },
      'budget_too_small',
    ],
    [
      'texts that nobody names, and rows without them',
      { ...inline(rowsOf(30, () => ({ expected: null }))), metrics: [{ type: 'contains' }] },
      'metric_needs_expected',
    ],
    [
      'a limit of the cost for a model without a price',
      { target: { model: 'nobody-knows-it' }, budget: { max_cost_usd: '1' } },
      'price_unknown',
    ],
  ])('%s', async (_what, body, code) => {
    const prompt = await it.newPrompt();
    expectProblem(await it.optimize(prompt.id, body), 422, code);
    expect(await runsOf(prompt.id)).toEqual([]);
  });

  test('a prompt with more required variables than a row can have values', async () => {
    const template = Array.from({ length: 1_001 }, (_, index) => `{{v${index}}}`).join(' ');
    const prompt = await it.newPrompt({ template });
    const problem = expectProblem((await it.optimize(prompt.id)) as never, 422, 'template_limit');
    expect(problem).toMatchObject({ budget: 'variables', detail: expect.stringContaining('at most 1000 required') });
  });

  test('rows without a variable of the template are named with it', async () => {
    const prompt = await it.newPrompt();
    const rows = rowsOf(30, (index) => ({ inputs: { text: `${index}` } }));
    const problem = expectProblem((await it.optimize(prompt.id, inline(rows))) as never, 422, 'missing_variables');
    expect(problem).toMatchObject({ missing: ['question'] });
    expect(problem.errors?.[0]).toMatchObject({ path: 'dataset.rows[0].inputs.question', code: 'missing_variable' });
  });

  test('the smallest limit of calls is named, and is enough', async () => {
    const prompt = await it.newPrompt();
    const problem = expectProblem(
      (await plan(prompt.id, { budget: { max_calls: 5 } })) as never,
      422,
      'budget_too_small',
    );
    const { minimum } = problem as unknown as { minimum: number };
    expect(problem.detail).toContain(String(minimum));
    expect((await plan(prompt.id, { budget: { max_calls: minimum } })).status).toBe(200);
    expect((await plan(prompt.id, { budget: { max_calls: minimum - 1 } })).status).toBe(422);
  });

  test.each([
    ['has no text', { template: '{{question}}' }, 'template_has_no_mutable_text'],
    [
      'has only placeholders',
      { type: 'chat', template: undefined, messages: [{ placeholder: 'history' }] },
      'template_has_no_mutable_text',
    ],
    ['names no model', { config: null }, 'model_not_configured'],
    ['names a part that does not exist', { template: 'Answer {{question}} {{> no-such-part}}' }, 'unknown_part'],
  ])('a prompt that %s', async (_what, body, code) => {
    const prompt = await it.newPrompt(body);
    expectProblem(await it.optimize(prompt.id, {}), 422, code);
  });

  test.each([134_000_000, 1_000_000.5])(
    'a prompt whose config has the limit of output tokens %s',
    async (max_tokens) => {
      const prompt = await it.newPrompt({ config: { model: 'gpt-4o', params: { max_tokens } } });
      const { errors } = expectProblem(await plan(prompt.id), 422, 'invalid_body');
      expect(errors).toMatchObject([{ path: 'config.params.max_tokens' }]);
      expect((await plan(prompt.id, { target: { params: { max_tokens: 400 } } })).status).toBe(200);
    },
  );

  test('no endpoint for models is configured', async () => {
    const api = await startApi();
    try {
      const project = await newProject(api);
      const prompt = await newOptimizablePrompt(api, project);
      const params = { project_id: project.id, prompt_id: prompt.id };
      const answer = await api.call('optimizePrompt', { key: project.key, params, body: inline(rowsOf(30)) });
      expectProblem(answer, 422, 'model_not_configured');
    } finally {
      await api.close();
    }
  });

  test.each([
    ['no limit at all', { budget: { max_calls: null, max_duration_s: null } }],
    ['a parameter that the run sets', { target: { params: { stream: true } } }],
    ['10,000 metrics', { metrics: Array.from({ length: 10_000 }, () => ({ type: 'exact_match' })) }],
    ['a pattern of 100 KB', { metrics: [{ type: 'regex', options: { pattern: 'a?'.repeat(50_000) } }] }],
    ['a row that is no object', inline(['question', ...rowsOf(20)])],
    ['a row with 5,000 values', inline([{ inputs: { question: Array(5_000).fill(1) } }, ...rowsOf(20)])],
    ['a row of 270,000 characters', inline([{ inputs: { question: 'x'.repeat(270_000) } }, ...rowsOf(20)])],
    ['an amount that is no money', { budget: { max_cost_usd: '-1' } }],
  ])('%s is refused at once', async (_what, body) => {
    const prompt = await it.newPrompt();
    const loop = watchLoop();
    const answer = await it.optimize(prompt.id, body);
    const longestMs = loop.stop();
    expectProblem(answer, 422, 'invalid_body');
    expect(longestMs).toBeLessThan(150);
  });
});

describe('429', () => {
  test('a workspace has a limited number of runs that have not ended', async () => {
    const project = await newProject(it.api);
    const [first] = await Promise.all([newOptimizablePrompt(it.api, project)]);
    const params = { project_id: project.id, prompt_id: first.id };
    const body = inline(rowsOf(30));
    const { body: run } = await it.api.call<CreatedRunWire>('optimizePrompt', { key: project.key, params, body });
    const row = await it.api.postgres('optimization_runs').where('id', run.run_id).first();
    const json = (value: unknown) =>
      typeof value === 'object' && value !== null && !(value instanceof Date) ? JSON.stringify(value) : value;
    const stored = Object.fromEntries(Object.entries(row).map(([name, value]) => [name, json(value)]));
    for (let index = 0; index < 48; index++) {
      const { id: prompt_id } = await newOptimizablePrompt(it.api, project);
      await it.api.postgres('optimization_runs').insert({ ...stored, id: newId('opt'), prompt_id });
    }
    const last = await Promise.all(Array.from({ length: 4 }, () => newOptimizablePrompt(it.api, project)));
    const answers = await Promise.all(
      last.map(({ id: prompt_id }) =>
        it.api.call('optimizePrompt', { key: project.key, body, params: { ...params, prompt_id } }),
      ),
    );
    const [began, ...refused] = answers.toSorted((a, b) => a.status - b.status);
    expect(began?.status).toBe(202);
    for (const answer of refused) {
      expectProblem(answer, 429, 'too_many_runs');
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    }
  });
});

describe('503', () => {
  test('no run is created while Redis is unavailable', async () => {
    const prompt = await it.newPrompt();
    const api = await startApi({ ...it.api.config, redisUrl: 'redis://127.0.0.1:1' });
    try {
      const params = { project_id: it.project.id, prompt_id: prompt.id };
      const answer = await api.call('optimizePrompt', { key: it.project.key, params, body: inline(rowsOf(30)) });
      expectProblem(answer, 503, 'queue_unavailable');
      expect(answer.headers.get('retry-after')).toBe('1');
      expect(await runsOf(prompt.id)).toEqual([]);
    } finally {
      await api.close();
    }
  });
});
