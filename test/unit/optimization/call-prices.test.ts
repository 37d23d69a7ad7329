import { expect, test } from 'vitest';
import { callPrices } from '../../../src/domains/optimization/call-prices.ts';
import { noOverrides } from '../../../src/domains/pricing/price-overrides.ts';
import { PriceTable } from '../../../src/domains/pricing/price-table.ts';

const prices = callPrices(new PriceTable(), noOverrides, new Date(Date.UTC(2026, 5, 15)));

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
