import { randomBytes } from 'node:crypto';
import { detailRequests, listRequests } from '../reads/read-requests.ts';
import { seedExecutions } from '../reads/seed-executions.ts';
import { type LatencySummary, round, summarizeLatencies } from '../statistics.ts';
import { untilMerged } from '../until-merged.ts';
import { type Bench, watchResources } from './bench.ts';

interface Measured extends LatencySummary {
  /** CPU time of API and ClickHouse together. Unlike elapsed time, it hardly depends on other load of the machine. */
  cpu_ms: number | null;
}

/** Both have 300,000 spans. */
const shapes = [
  { traces: 30_000, spansPerTrace: 10 },
  { traces: 600, spansPerTrace: 500 },
] as const;
const windowMs = 6 * 24 * 3_600_000;
const requestsPerRead = 60;
const warmUps = 10;
const sampleEveryMs = 1_000;

/** One reader at a time. Measures a list, a detail, a hierarchy and a timeline with 300,000 stored spans. */
export async function reads(bench: Bench): Promise<object> {
  const results: object[] = [];
  for (const shape of shapes) {
    bench.say(`  storing ${shape.traces} traces of ${shape.spansPerTrace} spans`);
    const startedAtMs = performance.now();
    await bench.clickhouse.command({ query: 'TRUNCATE TABLE spans' });
    await bench.clickhouse.command({ query: 'TRUNCATE TABLE executions' });
    await bench.clickhouse.command({ query: 'TRUNCATE TABLE execution_versions' });
    await bench.clickhouse.command({ query: 'TRUNCATE TABLE execution_facts' });
    const traceIds = await seedExecutions(bench.clickhouse, { projectId: bench.target.projectId, windowMs, ...shape });
    const seedS = round((performance.now() - startedAtMs) / 1_000, 1);
    await untilMerged(bench.clickhouse);
    const turnStart = randomBytes(4).readUInt32LE();
    results.push({
      ...shape,
      seed_s: seedS,
      list: await measureAll(bench, listRequests(), turnStart),
      execution: await measureAll(bench, detailRequests(traceIds), turnStart),
    });
  }
  return { parameters: { requests_per_read: requestsPerRead, limit: 50 }, shapes: results };
}

async function measureAll(
  bench: Bench,
  requests: Readonly<Record<string, (turn: number) => string>>,
  turnStart: number,
): Promise<object> {
  const measured: Record<string, Measured> = {};
  for (const [name, pathOf] of Object.entries(requests)) {
    measured[name] = await measureOne(bench, (turn) => pathOf(turnStart + turn));
    bench.say(`  ${name}: ${JSON.stringify(measured[name])}`);
  }
  return measured;
}

/**
 * The load generator sends the requests, because its heap is small. Garbage collections of this
 * process would add up to 25 ms.
 */
async function measureOne(bench: Bench, pathOf: (turn: number) => string): Promise<Measured> {
  const { projectId, apiKey } = bench.target;
  const paths = Array.from(
    { length: warmUps + requestsPerRead },
    (_, turn) => `/api/projects/${projectId}/${pathOf(turn)}`,
  );
  const watch = watchResources(bench, sampleEveryMs);
  const latenciesMs = await bench.load.run('reads', { paths, headers: { 'x-api-key': apiKey } });
  const { api, clickhouse } = watch.stop().byProcess;
  const cpuS = api?.cpu_s == null || clickhouse?.cpu_s == null ? null : api.cpu_s + clickhouse.cpu_s;
  return {
    ...summarizeLatencies(latenciesMs.subarray(warmUps)),
    cpu_ms: cpuS === null ? null : round((cpuS * 1_000) / paths.length, 1),
  };
}
