import { expect, test } from 'vitest';
import { createPorts, type PortDeps } from '../../../src/domains/optimization/create-ports.ts';

test.each([
  [null, 99_993],
  [500, 493],
])('with max_calls %s and 7 lost calls, %s calls are left', (maxCalls, left) => {
  const budget = { maxCalls, maxTokens: null, maxCostUsd: null, maxDurationS: null };
  const journal = { calls: new Map(), lost: { calls: 7, tokens: 0, costNanoUsd: 0n } };
  const { remaining } = createPorts({ run: { config: { budget } }, journal } as unknown as PortDeps);
  expect(remaining('search')).toEqual({ calls: left, tokens: Number.POSITIVE_INFINITY, costNanoUsd: null });
});
