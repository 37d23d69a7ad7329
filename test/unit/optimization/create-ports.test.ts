import { expect, test } from 'vitest';
import { createPorts, type PortDeps } from '../../../src/domains/optimization/create-ports.ts';

test.each([
  [null, 99_993],
  [500, 493],
])('with max_calls %s and 7 lost calls, %s calls are left', (maxCalls, left) => {
  const budget = { maxCalls, maxTokens: null, maxCostUsd: null, maxDurationS: null };
  const journal = { calls: new Map(), lost: { calls: 7, tokens: 0, costNanoUsd: 0n } };
  const run = { config: { budget }, costLimitNanoUsd: null };
  const { remaining } = createPorts({ run, journal } as unknown as PortDeps);
  expect(remaining('search')).toEqual({ calls: left, tokens: Number.POSITIVE_INFINITY, costNanoUsd: null });
});

test('without max_cost_usd, what the run has reserved of a budget is its limit, less the share of the final evaluation', () => {
  const budget = { maxCalls: 10, maxTokens: null, maxCostUsd: null, maxDurationS: null };
  const journal = { calls: new Map(), lost: { calls: 1, tokens: 5, costNanoUsd: 100n } };
  const run = { config: { budget }, costLimitNanoUsd: 1_000n };
  const storeHoldoutReserve = async () => undefined;
  const ports = createPorts({ run, journal, storeHoldoutReserve } as unknown as PortDeps);
  ports.reserveHoldout({ calls: 4, tokens: 20, costNanoUsd: 450n });
  expect([ports.remaining('search').costNanoUsd, ports.remaining('holdout').costNanoUsd]).toEqual([450n, 900n]);
});
