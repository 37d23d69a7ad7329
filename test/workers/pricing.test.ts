import { calcPrice } from '@pydantic/genai-prices';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newProject, type ProjectOfTest, startApi, type TestApi } from '../support/api.ts';
import { aPrice, putModelPrices } from '../support/model-prices.ts';
import type { SpanInput } from '../support/otlp-encode.ts';
import { aModelCall, aSpan, newSpanId, newTraceId } from '../support/spans.ts';
import { getExecution, listExecutions, sendSpans, untilStored } from '../support/traces.ts';
import { until } from '../support/until.ts';

let api: TestApi;
let project: ProjectOfTest;

beforeAll(async () => {
  api = await startApi();
  project = await newProject(api);
});
afterAll(() => api.close());

async function store(spans: readonly [SpanInput, ...SpanInput[]], to: ProjectOfTest = project) {
  await sendSpans(api, to.key, spans);
  return untilStored(api, to, spans[0].traceId, spans.length);
}

/** A call of a model that only a project itself can price. */
function houseCall(given: Partial<SpanInput> = {}): SpanInput {
  return aModelCall(1_000_000, 0, {
    ...given,
    attributes: { 'gen_ai.response.model': 'house-model', 'gen_ai.provider.name': 'house', ...given.attributes },
  });
}

/** Sends calls until one is priced as the project's own prices say now; they are in force within two seconds. */
async function untilPriced(own: ProjectOfTest, cost: string) {
  return until(`a call that costs ${cost}`, 30_000, async () => {
    const { spans } = await store([houseCall()], own);
    return spans[0]?.cost === cost && spans[0];
  });
}

describe('a span with tokens and no reported cost', () => {
  test('costs what the table says, with cached and reasoning tokens apart', async () => {
    const call = aModelCall(12_345, 678, {
      attributes: {
        'gen_ai.usage.cache_read.input_tokens': 10_000n,
        'gen_ai.usage.reasoning.output_tokens': 600n,
        'gen_ai.response.model': 'gpt-4o-2024-08-06',
      },
    });
    const execution = await store([call]);
    const usage = { input_tokens: 12_345, cache_read_tokens: 10_000, output_tokens: 678, output_reasoning_tokens: 600 };
    const expected = calcPrice(usage, 'gpt-4o-2024-08-06', { providerId: 'openai' })?.total_price;
    expect(execution).toMatchObject({ cost: '0.0251425', unpriced_spans: 0 });
    expect(Number(execution.cost)).toBeCloseTo(expected ?? Number.NaN, 9);
    expect(execution.spans[0]).toMatchObject({
      cost: '0.0251425',
      cost_source: 'computed',
      price_version: expect.stringMatching(/^genai-prices@\d/),
    });
  });

  test('is priced as on the day of its start', async () => {
    const o3 = { 'gen_ai.response.model': 'o3' };
    const on = (date: string) => {
      const startUnixNano = BigInt(Date.parse(date)) * 1_000_000n;
      return aModelCall(1_000_000, 0, { startUnixNano, endUnixNano: startUnixNano, attributes: o3 });
    };
    const [before, after] = [await store([on('2025-06-09T12:00:00Z')]), await store([on('2025-06-11T12:00:00Z')])];
    expect([before.cost, after.cost]).toEqual(['10.000000', '2.000000']);
  });

  test('has no cost when one of its counts cannot be right, and is counted as unpriced', async () => {
    const call = aModelCall(10, 10, { attributes: { 'gen_ai.usage.input_tokens': -5n } });
    const execution = await store([call]);
    expect(execution).toMatchObject({ cost: null, unpriced_spans: 1, usage: { input_tokens: 0, output_tokens: 10 } });
  });

  test('that is not even reported has no cost either, and is counted as unpriced', async () => {
    const call = aSpan({ attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.response.model': 'gpt-4o' } });
    expect(await store([call])).toMatchObject({ cost: null, unpriced_spans: 1, models: ['gpt-4o'] });
    expect(await store([aSpan({})])).toMatchObject({ cost: '0.000000', unpriced_spans: 0 });
  });

  test('has no cost when nobody knows its model, and is counted as unpriced', async () => {
    const execution = await store([houseCall()]);
    expect(execution).toMatchObject({ cost: null, unpriced_spans: 1 });
    expect(execution.spans[0]).toMatchObject({ cost: null, cost_source: 'none', price_version: null });
    expect(execution.cost_breakdown).toMatchObject({ total: null, reported: null, computed: null, unpriced_spans: 1 });
  });

  test('one of 3,000 with a model nobody has heard of each is stored like any other', async () => {
    const traceId = newTraceId();
    const known = aModelCall(1_000_000, 0, { traceId });
    const unknown = Array.from({ length: 3_000 }, (_, index) =>
      houseCall({ traceId, attributes: { 'gen_ai.response.model': `unheard-of-${index}` } }),
    );
    const execution = await store([known, ...unknown]);
    expect(execution).toMatchObject({ cost: '2.500000', unpriced_spans: 3_000 });
    expect((await store([aModelCall(1_000_000, 0)])).cost).toBe('2.500000');
  });
});

describe('a cost that the client reports', () => {
  test.each([
    [0.5, '0.500000'],
    [0, '0.000000'],
  ])('of %d comes before the table', async (reported, cost) => {
    const execution = await store([aModelCall(1_000_000, 0, { attributes: { 'gen_ai.usage.cost': reported } })]);
    expect(execution).toMatchObject({ cost, unpriced_spans: 0 });
    expect(execution.spans[0]).toMatchObject({ cost, cost_source: 'reported', price_version: null });
    expect(execution.cost_breakdown).toMatchObject({ total: cost, reported: cost, computed: null });
  });

  test('comes before own prices as well', async () => {
    const own = await newProject(api);
    await putModelPrices(api, own, { prices: [aPrice] });
    const execution = await store([houseCall({ attributes: { 'gen_ai.usage.cost': 0.25 } })], own);
    expect(execution.spans[0]).toMatchObject({ cost: '0.250000', cost_source: 'reported' });
  });
});

describe('a trace', () => {
  test('costs what its calls cost, not again what an agent above repeats', async () => {
    const traceId = newTraceId();
    const [agentId, chatId] = [newSpanId(), newSpanId()];
    const below = { traceId, parentSpanId: agentId };
    const execution = await store([
      aSpan({
        traceId,
        spanId: agentId,
        name: 'agent',
        attributes: {
          'gen_ai.operation.name': 'invoke_agent',
          'gen_ai.provider.name': 'openai',
          'gen_ai.request.model': 'gpt-4o',
          'gen_ai.usage.input_tokens': 3_000_000n,
          'gen_ai.usage.output_tokens': 0n,
        },
      }),
      aModelCall(1_000_000, 0, { ...below, spanId: chatId }),
      aModelCall(1_000_000, 0, { ...below, attributes: { 'gen_ai.usage.cost': 7 } }),
      houseCall(below),
    ]);
    expect(execution.spans.find(({ span_id }) => span_id === agentId)).toMatchObject({ cost: '7.500000' });
    expect(execution).toMatchObject({ cost: '9.500000', unpriced_spans: 1 });
    expect(execution.cost_breakdown).toMatchObject({
      total: '9.500000',
      reported: '7.000000',
      computed: '2.500000',
      unpriced_spans: 1,
      by_model: [
        {
          model: 'gpt-4o',
          provider: 'openai',
          cost: '9.500000',
          unpriced_spans: 0,
          usage: { input_tokens: 2_000_000 },
        },
        { model: 'house-model', provider: 'house', cost: null, unpriced_spans: 1, usage: { input_tokens: 1_000_000 } },
      ],
    });
    const listed = await until('its summary', 30_000, async () => {
      const { body } = await listExecutions(api, project, { limit: 100 });
      return body.data.find(({ trace_id, span_count }) => trace_id === traceId && span_count === 4);
    });
    expect(listed).toMatchObject({ cost: '9.500000', unpriced_spans: 1 });
  });

  test('without any model call costs nothing', async () => {
    const execution = await store([aSpan()]);
    expect(execution).toMatchObject({ cost: '0.000000', unpriced_spans: 0 });
    expect(execution.cost_breakdown).toMatchObject({ total: '0.000000', computed: null, by_model: [] });
  });
});

describe('own prices', () => {
  test('are in force soon after they are put, and what is stored already stays as it is', async () => {
    const own = await newProject(api);
    const before = await store([houseCall()], own);
    expect(before.spans[0]?.cost).toBeNull();

    const first = await putModelPrices(api, own, { prices: [aPrice] });
    const priced = await untilPriced(own, '2.500000');
    expect(priced).toMatchObject({ cost_source: 'computed', price_version: `override:${first.body.updated_at}` });
    const atFirst = await store([houseCall()], own);

    await putModelPrices(api, own, { prices: [{ ...aPrice, input_per_million: 4 }] });
    await untilPriced(own, '4.000000');
    await putModelPrices(api, own, { prices: [] });
    await until('no price any more', 30_000, async () => (await store([houseCall()], own)).spans[0]?.cost === null);

    for (const { trace_id, spans } of [before, atFirst]) {
      const { body } = await getExecution(api, own, trace_id);
      expect(body.spans[0]).toEqual(spans[0]);
    }
  });

  test('from a time on hold for spans that start then or later, whenever those come', async () => {
    const own = await newProject(api);
    const at = (ms: number) => ({ startUnixNano: BigInt(ms) * 1_000_000n, endUnixNano: BigInt(ms) * 1_000_000n });
    const changeMs = Date.now() - 3_600_000;
    await putModelPrices(api, own, {
      prices: [
        { ...aPrice, input_per_million: 1 },
        { ...aPrice, input_per_million: 3, effective_from: new Date(changeMs).toISOString() },
        { ...aPrice, input_per_million: 9, effective_from: new Date(Date.now() + 3_600_000).toISOString() },
      ],
    });
    await untilPriced(own, '3.000000');
    const [earlier, later] = [
      await store([houseCall(at(changeMs - 1))], own),
      await store([houseCall(at(changeMs))], own),
    ];
    expect([earlier.cost, later.cost]).toEqual(['1.000000', '3.000000']);
    expect(later.spans[0]?.price_version).toBe(`override:${new Date(changeMs).toISOString()}`);
  });

  test('of one project are not those of another', async () => {
    const [own, other] = [await newProject(api), await newProject(api)];
    await putModelPrices(api, own, { prices: [aPrice] });
    await untilPriced(own, '2.500000');
    expect((await store([houseCall()], other)).cost).toBeNull();
  });
});
