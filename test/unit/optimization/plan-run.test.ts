import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import type { CallPrices } from '../../../src/domains/optimization/call-prices.ts';
import { leastCallsOf } from '../../../src/domains/optimization/estimate-run.ts';
import { optimizeBody } from '../../../src/domains/optimization/optimize.schema.ts';
import { planRun } from '../../../src/domains/optimization/plan-run.ts';
import { resolveConfig } from '../../../src/domains/optimization/resolve-config.ts';
import { type Place, placeOf, rowKeyOf } from '../../../src/domains/optimization/split-rows.ts';
import type { PromptContent } from '../../../src/domains/prompts/index.ts';
import { InvalidError } from '../../../src/lib/errors.ts';

const version: PromptContent = {
  ...{ type: 'text', template: 'Answer.\n{{q}}', templateFormat: 'mustache', inputSchema: null },
  config: { model: 'target' },
};
const prices = (priced: boolean): CallPrices => ({
  priceOf: (model, { inputTokens, outputTokens }) =>
    priced && model !== 'unpriced'
      ? BigInt((inputTokens * 100 + outputTokens * 400) * (model === 'expensive' ? 10 : 1))
      : null,
  estimate: () => ({ inputTokens: 1, outputTokens: 1, tokens: 2, costNanoUsd: null }),
});

const rowsOf = (count: number): Place[] =>
  Array.from({ length: count }, (_, index) => {
    const inputs = { q: `question ${index}` };
    return placeOf({ inputs, expected: 'yes', key: rowKeyOf(inputs) }, 'prm_1');
  });

function configOf(body: object = {}, config: object = {}) {
  const models = { baseUrl: 'http://127.0.0.1/v1', reflectionModel: undefined };
  const parsed = optimizeBody.parse(body);
  return resolveConfig(parsed, {
    base: { ...version, config: { ...version.config, ...config } },
    models,
    metrics: parsed.metrics ?? [{ type: 'exact_match' }],
    seed: 7,
  });
}

function plan(rows: number | readonly Place[], body: object = {}, { template = 'Answer.\n{{q}}', priced = true } = {}) {
  return planRun(configOf(body), {
    ...{ base: { type: 'text', template }, dropped: 2, holdoutFraction: 0.3 },
    ...{ rows: typeof rows === 'number' ? rowsOf(rows) : rows, prices: prices(priced) },
  });
}

function refusalOf(run: () => unknown): InvalidError {
  try {
    run();
  } catch (error) {
    if (error instanceof InvalidError) return error;
    throw error;
  }
  throw new Error('It was not refused');
}

const codesOf = ({ warnings }: { warnings: readonly { code: string }[] }) => warnings.map(({ code }) => code);

describe('resolveConfig', () => {
  test('the reflection model is the configured one, otherwise that of the target', () => {
    expect(configOf().reflection.model).toBe('target');
    const models = { baseUrl: 'http://127.0.0.1/v1', reflectionModel: 'thinker' };
    const given = { base: version, models, metrics: [], seed: 1 };
    expect(resolveConfig(optimizeBody.parse({}), given).reflection.model).toBe('thinker');
  });

  test('a limit of the output that the caller names is the only one', () => {
    const { params } = configOf({ target: { params: { max_completion_tokens: 50 } } }).target;
    expect(params).toEqual({ temperature: 0, max_completion_tokens: 50 });
    const inherited = configOf(
      { target: { params: { max_completion_tokens: 50 } } },
      { params: { max_tokens: 9_000 } },
    );
    expect(inherited.target.params).toEqual({ temperature: 0, max_completion_tokens: 50 });
  });

  test.each([
    [{ max_tokens: 134_000_000 }, 'config.params.max_tokens'],
    [{ max_completion_tokens: 1_000_000.5 }, 'config.params.max_completion_tokens'],
    [{ max_tokens: '400' }, 'config.params.max_tokens'],
    [{ temperature: 3 }, 'config.params.temperature'],
    [{ stop: 'x'.repeat(20_000) }, 'config.params'],
  ])('parameters of the version that no request may name are refused by their path: %#', (params, path) => {
    const refusal = refusalOf(() => configOf({}, { params }));
    expect([refusal.code, refusal.errors?.map((fault) => fault.path)]).toEqual(['invalid_body', [path]]);
    expect(refusal.message).toContain(`${path} of the prompt's version: `);
  });

  test('parameters of the version are not looked at where the request names others, and null is none', () => {
    const params = { temperature: null, max_tokens: 134_000_000, top_p: 0.5, tools: [] };
    const { target } = configOf({ target: { params: { max_tokens: 50 } } }, { params });
    expect(target.params).toEqual({ temperature: 0, max_tokens: 50, top_p: 0.5 });
  });

  test('the seed of the request is kept, and another one is used without it', () => {
    expect([configOf({ seed: 3 }).seed, configOf().seed]).toEqual([3, 7]);
  });
});

describe('planRun', () => {
  test('counts rows, keeps twice the holdout in calls, and estimates proposals and cost', () => {
    const { plan: planned, rows, costNanoUsdMax, holdoutId } = plan(100);
    const { train, val, holdout, dropped, unused } = planned.rows;
    expect([train + val + holdout + unused, dropped]).toEqual([100, 2]);
    expect(rows).toHaveLength(100 - unused);
    expect(val).toBe(25);
    expect(planned.reserved_for_holdout_calls).toBe(2 * holdout);
    const [least, most] = planned.estimated_proposals;
    expect([least > 5, most <= 100, least < most]).toEqual([true, true, true]);
    expect(planned.estimated_cost_usd).toEqual([expect.stringMatching(/^0\.\d+$/), expect.stringMatching(/^0\.\d+$/)]);
    expect(costNanoUsdMax).toBeGreaterThan(0n);
    expect(holdoutId).toMatch(/^[0-9a-f]{32}$/);
  });

  test('few rows and few calls are warned of, and no price', () => {
    expect(codesOf(plan(12))).toEqual(['no_holdout']);
    expect(codesOf(plan(30))).toEqual(['small_holdout']);
    expect(codesOf(plan(200, { budget: { max_calls: 100 } }))).toContain('low_budget');
    expect(codesOf(plan(100, {}, { priced: false }))).toEqual(['price_unknown']);
    expect(codesOf(plan(100))).toEqual([]);
  });

  test('a model that is not called needs no price, and a judge has its own', () => {
    const reflection = { model: 'unpriced' };
    expect(codesOf(plan(100, { reflection }))).toEqual(['price_unknown']);
    expect(codesOf(plan(100, { reflection, algorithm: 'few_shot' }))).toEqual([]);
    const judge = (model: string) => ({
      ...{ algorithm: 'few_shot', metrics: [{ type: 'llm_judge', options: { criteria: 'good', model } }] },
    });
    const [own, expensive] = ['target', 'expensive'].map((model) => plan(100, judge(model)).costNanoUsdMax);
    expect(Number(expensive) / Number(own)).toBeGreaterThan(4);
  });

  test('samples and judges make every row cost more calls', () => {
    const judged = { metrics: [{ type: 'llm_judge', options: { criteria: 'good' } }] };
    const { rows, reserved_for_holdout_calls: reserved } = plan(100, {
      ...judged,
      target: { samples_per_row: 2 },
    }).plan;
    expect(reserved).toBe(2 * rows.holdout * 4);
  });

  test('a small limit of calls makes the holdout smaller, so that the search has the other half', () => {
    for (const maxCalls of [60, 150, 500]) {
      const { plan: planned } = plan(250, { budget: { max_calls: maxCalls } });
      expect(planned.reserved_for_holdout_calls).toBeLessThanOrEqual(maxCalls / 2);
      expect(planned.rows.holdout).toBeGreaterThanOrEqual(8);
    }
  });

  test('the smallest limit that it names is enough, and the next smaller one is not', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 6, max: 150 }),
        fc.integer({ min: 1, max: 3 }),
        fc.integer({ min: 1, max: 12 }),
        (count, samples, batch) => {
          const body = (maxCalls: number) => ({
            ...{ budget: { max_calls: maxCalls }, target: { samples_per_row: samples } },
            search: { minibatch_size: batch },
          });
          const minimum = Number(refusalOf(() => plan(count, body(1))).extra?.minimum);
          const { val, holdout } = plan(count, body(minimum)).plan.rows;
          expect(leastCallsOf({ val, holdout, minibatch: batch, perRow: samples })).toBeLessThanOrEqual(minimum);
          expect(refusalOf(() => plan(count, body(minimum - 1))).code).toBe('budget_too_small');
        },
      ),
      { numRuns: 60 },
    );
  });

  test('a run that is refused for its limit does not read the expected values again', () => {
    let reads = 0;
    const toJSON = () => {
      reads++;
      return 'yes';
    };
    const rows = rowsOf(1_000).map(({ row }) => placeOf({ ...row, expected: { toJSON } }, 'prm_1'));
    expect(reads).toBe(1_000);
    expect(refusalOf(() => plan(rows, { budget: { max_calls: 5 } })).code).toBe('budget_too_small');
    expect(reads).toBe(1_000);
  });

  test('a plan does not read the values of its rows, which were measured before', () => {
    const toJSON = vi.fn(() => 'yes');
    const rows = rowsOf(100).map(({ row }) => placeOf({ ...row, inputs: { toJSON }, expected: { toJSON } }, 'prm_1'));
    toJSON.mockClear();
    expect(plan(rows).rows.length).toBeGreaterThan(0);
    expect(toJSON).not.toHaveBeenCalled();
  });

  test.each([
    ['{{q}}', true],
    ['  {{#a}}{{q}}{{/a}}\n{{{q}}} {{> part}} ', true],
    ['{% if q %}{{ q }}{% endif %}', true],
    ['{{q}}?', false],
    ['Say {{q}}', false],
    ['{', false],
  ])('whether %j has no text that could change: %s', (template, isRefused) => {
    const run = () => plan(60, {}, { template });
    if (isRefused) expect(refusalOf(run).code).toBe('template_has_no_mutable_text');
    else expect(run().rows.length).toBeGreaterThan(0);
  });

  test('a limit of the cost needs the price of every model, that of a judge too', () => {
    const judged = [{ type: 'llm_judge', options: { criteria: 'good', model: 'judge' } }];
    const refusal = refusalOf(() => plan(60, { metrics: judged, budget: { max_cost_usd: '1' } }, { priced: false }));
    expect([refusal.code, refusal.extra?.models]).toEqual(['price_unknown', ['target', 'judge']]);
  });
});
