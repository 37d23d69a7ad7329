import { expect, test } from 'vitest';
import { callPrices } from '../../../src/domains/optimization/call-prices.ts';
import { noOverrides } from '../../../src/domains/pricing/price-overrides.ts';
import { PriceTable } from '../../../src/domains/pricing/price-table.ts';

const prices = callPrices(new PriceTable(), noOverrides, new Date(Date.UTC(2026, 5, 15)));

test('a response may have as many tokens as the larger of two limits, and tools count as text', () => {
  const estimate = (params: object) =>
    prices.estimate({ model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello' }], params: { ...params } });
  const plain = estimate({ max_tokens: 9_000 });
  expect(estimate({ max_tokens: 1, max_completion_tokens: 9_000 })).toEqual(plain);
  const { inputTokens } = estimate({ max_tokens: 9_000, tools: ['x'.repeat(3_000)] });
  expect(inputTokens).toBeGreaterThanOrEqual(plain.inputTokens + 1_000);
});

test.each([0, 1, 2, 4_096])(
  '%s bytes that a message will have as well count as a text of this length',
  (addedBytes) => {
    const call = (content: string) => ({
      ...{ model: 'gpt-4o', params: { max_tokens: 400 } },
      messages: [
        { role: 'system', content: 'Judge.' },
        { role: 'user', content },
      ],
    });
    expect(prices.estimate({ ...call('Ö'), addedBytes })).toEqual(prices.estimate(call(`Ö${'x'.repeat(addedBytes)}`)));
  },
);
