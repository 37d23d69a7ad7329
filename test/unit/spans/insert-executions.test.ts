import { Readable } from 'node:stream';
import { afterEach, expect, test, vi } from 'vitest';
import type { ExecutionCall } from '../../../src/domains/summaries/execution-calls.ts';
import { insertExecutions } from '../../../src/domains/summaries/execution-row.ts';
import type { ClickHouse } from '../../../src/stores/clickhouse/client.ts';
import { anExecution, noUsage } from '../../support/executions.ts';

afterEach(() => void vi.restoreAllMocks());

const call: ExecutionCall = {
  spanId: 'a'.repeat(16),
  calls: 1,
  startUnixNano: 1n,
  durationMs: 1,
  ttftMs: null,
  status: 'ok',
  provider: 'openai',
  model: 'm',
  counted: true,
  usage: noUsage,
  costNanoUsd: 1n,
  prompt: { id: '', name: '', version: 0, key: '' },
};

/** The client, as far as an insert needs it. Counts the bytes that come. */
function countingClickHouse() {
  let bytes = 0;
  const exec = async ({ values }: { values: Readable }) => {
    for await (const chunk of values) bytes += (chunk as Buffer).length;
    return { stream: Readable.from([]) };
  };
  return { clickhouse: { exec } as unknown as ClickHouse, bytes: () => bytes };
}

test.each([
  ['executions with a hundred calls', { calls: Array.from({ length: 100 }, () => call) }, 2],
  [
    'executions with long texts',
    { calls: [{ ...call, model: '漢'.repeat(20_000), provider: '模'.repeat(20_000) }] },
    6,
  ],
  ['executions', {}, 64],
])('many %s are encoded a few at a time', async (_what, given, atMost) => {
  const { clickhouse, bytes } = countingClickHouse();
  // A slice ends with each look at the clock.
  let nowMs = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => (nowMs += 5));
  const encoded = new Set<number>();
  const inOneTurn: number[] = [];
  const executions = Array.from({ length: 600 }, (_, index) =>
    Object.defineProperty(anExecution({ id: 'prj_1' }, given), 'version', {
      get() {
        if (encoded.size === 0) setImmediate(endTurn);
        encoded.add(index);
        return 1n;
      },
    }),
  );
  function endTurn() {
    inOneTurn.push(encoded.size);
    encoded.clear();
  }
  await insertExecutions(clickhouse, executions);
  expect(Math.max(...inOneTurn)).toBe(atMost);
  expect(bytes()).toBeGreaterThan(60_000);
});
