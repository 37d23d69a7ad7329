import { setTimeout as delay } from 'node:timers/promises';
import { epochMs } from '../load/epoch.ts';
import { round } from '../statistics.ts';
import { type Bench, bodiesFor, measure, prepareBodies } from './bench.ts';

const times = 3;
const defaultSeconds = 10;
const connectionsMax = 1_024;
/** Rate that is used if `throughput` did not run before. */
const assumedSpansPerS = 15_000;
const healthTimeoutMs = 60_000;

/**
 * Open loop far above the storage rate, without resending. Measures refusals and their latency, and
 * checks that no acknowledged span is lost.
 */
export async function overload(bench: Bench): Promise<object> {
  const seconds = bench.options.seconds ?? defaultSeconds;
  const spansPerS = Math.round((bench.measuredSpansPerS ?? assumedSpansPerS) * times);
  const { range, bodies } = await prepareBodies(bench, bodiesFor(bench, spansPerS, seconds));
  const bodiesPerS = spansPerS / bench.options.spansPerBody;
  const { sent, figures } = await measure(bench, range, () =>
    bench.load.run('openLoop', { bodiesPerS, connectionsMax }),
  );
  const { '200': accepted = 0, '429': busy = 0, '503': refused = 0, ...others } = sent.statuses;
  return {
    parameters: {
      loop: 'open',
      spans_per_s: spansPerS,
      from: bench.measuredSpansPerS === undefined ? 'an assumed throughput' : 'the measured throughput',
      times,
      seconds,
      connections_max: connectionsMax,
      ...bodies,
    },
    accepted,
    refused_429: busy,
    refused_503: refused,
    anything_else: Object.values(others).reduce((sum, count) => sum + count, 0),
    slowest_answer_ms: round(sent.worstMs, 1),
    healthy_after_ms: await untilHealthy(bench.target.url),
    ...figures,
  };
}

/** Returns the time from the storage of all spans until the health check is ok. Throws after a minute. */
export async function untilHealthy(url: string): Promise<number> {
  const startMs = epochMs();
  for (;;) {
    const response = await fetch(`${url}/api/health`);
    const body: unknown = await response.json();
    if (typeof body === 'object' && body !== null && 'status' in body && body.status === 'ok') {
      return round(epochMs() - startMs, 1);
    }
    if (epochMs() - startMs > healthTimeoutMs) throw new Error(`health after a minute: ${JSON.stringify(body)}`);
    await delay(100);
  }
}
