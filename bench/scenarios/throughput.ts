import { availableParallelism } from 'node:os';
import { engineLimit, storedBytesPerSpan } from '../engine-limit.ts';
import type { ResourceUse } from '../resources.ts';
import { round } from '../statistics.ts';
import { untilMerged } from '../until-merged.ts';
import { type Bench, bodiesFor, measure, prepareBodies } from './bench.ts';

const defaultSeconds = 8;
/** Spans per second that bodies are created for in advance. Unused bodies are discarded. */
const acknowledgedSpansPerSMax = 45_000;

/** Closed loop. Sends as fast as the API acknowledges, until the last span is readable. */
export async function throughput(bench: Bench): Promise<object> {
  const seconds = bench.options.seconds ?? defaultSeconds;
  const { connections } = bench.options;
  const { range, bodies } = await prepareBodies(bench, bodiesFor(bench, acknowledgedSpansPerSMax, seconds));
  const { sent, spans, readableAtMs, resources, figures } = await measure(bench, range, () =>
    bench.load.run('closedLoop', { connections, seconds }),
  );
  const endToEnd = spans / ((readableAtMs - sent.firstSentAtMs) / 1_000);
  bench.measuredSpansPerS = endToEnd;
  await untilMerged(bench.clickhouse);
  const stored = await storedBytesPerSpan(bench);
  return {
    parameters: { loop: 'closed', connections, seconds, ...bodies },
    end_to_end_spans_per_s: Math.round(endToEnd),
    cpu_bound_spans_per_s: cpuBound(resources),
    acknowledged_spans_per_s: Math.round(spans / ((sent.lastAnsweredAtMs - sent.firstSentAtMs) / 1_000)),
    end_to_end_s: round((readableAtMs - sent.firstSentAtMs) / 1_000, 2),
    bytes_on_disk_per_span: stored,
    engine_limit: await engineLimit(bench),
    ...figures,
  };
}

const serving = ['api', 'worker', 'clickhouse', 'redis'];

/**
 * Throughput if the machine only ran the service. It varies less than elapsed time if other
 * processes use the machine.
 */
function cpuBound(resources: Record<string, ResourceUse>): number | null {
  const costsUs = serving.map((name) => resources[name]?.cpu_us_per_span ?? null);
  const costUs = costsUs.reduce<number>((sum, cost) => sum + (cost ?? Number.NaN), 0);
  return Number.isNaN(costUs) ? null : Math.round((availableParallelism() * 1e6) / costUs);
}
