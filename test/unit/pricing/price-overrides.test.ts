import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { identityOf, type ModelPrice } from '../../../src/domains/pricing/model-price.ts';
import { type PricedCall, priceCall } from '../../../src/domains/pricing/price-call.ts';
import { compileOverrides } from '../../../src/domains/pricing/price-overrides.ts';
import { PriceTable } from '../../../src/domains/pricing/price-table.ts';
import { tokens } from '../../support/priced-usage.ts';

const table = new PriceTable();
const updatedAt = new Date('2026-08-01T10:00:00.000Z');

function own(given: Partial<ModelPrice>): ModelPrice {
  return {
    model: 'house-model',
    provider: null,
    inputPerMillion: '1',
    outputPerMillion: '2',
    cacheReadPerMillion: null,
    cacheWritePerMillion: null,
    reasoningPerMillion: null,
    effectiveFrom: null,
    ...given,
  };
}

/** What a million input tokens cost, in whole dollars or as far as given. */
function inputPrice(prices: readonly ModelPrice[], call: Partial<PricedCall> & { start?: string } = {}) {
  const { start = '2026-07-01T00:00:00Z', ...given } = call;
  const price = priceCall(
    { table, overrides: compileOverrides({ prices, updatedAt }), budget: { left: 10 } },
    {
      provider: '',
      model: 'house-model',
      requestModel: '',
      usage: tokens({ inputTokens: 1_000_000 }),
      startUnixNano: BigInt(Date.parse(start)) * 1_000_000n,
      ...given,
    },
  );
  return price && { usd: Number(price.costNanoUsd) / 1e9, version: price.priceVersion };
}

describe('an own price', () => {
  test('prices a model that the table does not know, and says when it was set', () => {
    expect(inputPrice([own({})])).toEqual({ usd: 1, version: 'override:2026-08-01T10:00:00.000Z' });
  });

  test('comes before the table, in any case of the name', () => {
    const prices = [own({ model: 'GPT-4o', inputPerMillion: '0.5' })];
    expect(inputPrice(prices, { provider: 'openai', model: 'gpt-4o' })?.usd).toBe(0.5);
    expect(inputPrice(prices, { provider: 'openai', model: 'gpt-4o-mini' })).toEqual({
      usd: 0.15,
      version: table.version,
    });
  });

  test('of the model asked for holds when the one that answered has none', () => {
    const prices = [own({ model: 'gpt-4o' })];
    const call = { provider: 'openai', model: 'gpt-4o-2024-08-06', requestModel: 'gpt-4o' };
    expect(inputPrice(prices, call)?.usd).toBe(1);
    const both = [...prices, own({ model: 'gpt-4o-2024-08-06', inputPerMillion: '7' })];
    expect(inputPrice(both, call)?.usd).toBe(7);
  });

  test('of a provider holds for that one alone, under any of its names, and before that of any provider', () => {
    const prices = [own({}), own({ provider: 'Azure', inputPerMillion: '3' })];
    expect(inputPrice(prices, { provider: 'azure.ai.openai' })?.usd).toBe(3);
    expect(inputPrice(prices, { provider: 'openai' })?.usd).toBe(1);
    expect(inputPrice([own({ provider: 'azure' })], { provider: 'openai' })).toBeNull();
  });

  test('parts without a price of their own cost what the input or the output costs', () => {
    const usage = tokens({
      inputTokens: 6_000_000,
      cacheReadTokens: 1_000_000,
      cacheWriteTokens: 2_000_000,
      outputTokens: 5_000_000,
      reasoningTokens: 2_000_000,
    });
    const call = { usage };
    expect(inputPrice([own({})], call)?.usd).toBe(6 + 5 * 2);
    const apart = own({ cacheReadPerMillion: '0.1', cacheWritePerMillion: '1.25', reasoningPerMillion: '4' });
    expect(inputPrice([apart], call)?.usd).toBe(3 + 0.1 + 2 * 1.25 + 3 * 2 + 2 * 4);
  });

  test('is exact to the ninth decimal, and rounded half up once', () => {
    const cheap = [own({ inputPerMillion: '0.000000001', outputPerMillion: '0.000499999' })];
    const cost = (usage: PricedCall['usage']) => Number(inputPrice(cheap, { usage })?.usd) * 1e9;
    expect(cost(tokens({ inputTokens: 499_999 }))).toBe(0);
    expect(cost(tokens({ inputTokens: 500_000 }))).toBe(1);
    expect(cost(tokens({ inputTokens: 1, outputTokens: 1 }))).toBe(1);
    expect(cost(tokens({ outputTokens: 1 }))).toBe(0);
  });
});

describe('a cost', () => {
  const count = fc.oneof(fc.nat(2 ** 31 - 1), fc.nat(100_000));
  const price = fc
    .tuple(fc.nat(99_999), fc.nat(999_999_999))
    .map(([usd, nano]) => `${usd}.${`${nano}`.padStart(9, '0')}`);

  test('of any size is the sum of its parts, rounded half up', () => {
    fc.assert(
      fc.property(
        fc.array(price, { minLength: 2, maxLength: 2 }),
        count,
        count,
        (prices, inputTokens, outputTokens) => {
          const [input = '', output = ''] = prices;
          const overrides = compileOverrides({
            prices: [own({ inputPerMillion: input, outputPerMillion: output })],
            updatedAt,
          });
          const call = { provider: '', model: 'house-model', requestModel: '', startUnixNano: 0n };
          const usage = tokens({ inputTokens, outputTokens });
          const cost = priceCall({ table, overrides, budget: { left: 0 } }, { ...call, usage })?.costNanoUsd;
          const femto = (decimal: string) => BigInt(decimal.replace('.', ''));
          const exact = BigInt(inputTokens) * femto(input) + BigInt(outputTokens) * femto(output);
          expect(cost).toBe((exact + 500_000n) / 1_000_000n);
        },
      ),
      { numRuns: 2_000 },
    );
  });
});

describe('own prices from different times on', () => {
  const prices = [
    own({ inputPerMillion: '2', effectiveFrom: new Date('2026-03-01T00:00:00Z') }),
    own({ inputPerMillion: '3', effectiveFrom: new Date('2026-06-01T00:00:00Z') }),
  ];

  test.each([
    ['2026-05-31T23:59:59.999Z', 2],
    ['2026-06-01T00:00:00.000Z', 3],
    ['2027-01-01T00:00:00.000Z', 3],
  ])('a call of %s costs %d, whatever their order', (start, usd) => {
    expect(inputPrice(prices, { start })?.usd).toBe(usd);
    expect(inputPrice(prices.toReversed(), { start })?.usd).toBe(usd);
  });

  test('before the first of them the price without a time holds, else the table', () => {
    const start = '2026-02-28T23:59:59.999Z';
    expect(inputPrice(prices, { start })).toBeNull();
    expect(inputPrice([...prices, own({ inputPerMillion: '9' })], { start })?.usd).toBe(9);
    expect(inputPrice([...prices, own({ inputPerMillion: '9' })], { start: '2026-04-01T00:00:00Z' })?.usd).toBe(2);
  });

  test('the version is the time from which the price holds', () => {
    expect(inputPrice(prices)?.version).toBe('override:2026-06-01T00:00:00.000Z');
  });
});

test('two prices are the same when only case or the alias of a provider differs', () => {
  const at = new Date('2026-01-01T00:00:00Z');
  const price = { model: 'Model', provider: 'azure', effectiveFrom: at };
  expect(identityOf({ model: 'model', provider: 'azure.ai.openai', effectiveFrom: new Date(at) })).toBe(
    identityOf(price),
  );
  for (const other of [{ model: 'models' }, { provider: null }, { effectiveFrom: null }]) {
    expect(identityOf({ ...price, ...other })).not.toBe(identityOf(price));
  }
});
