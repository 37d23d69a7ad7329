import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { detailRequests, listRequests } from '../reads/read-requests.ts';
import { seedExecutions } from '../reads/seed-executions.ts';
import { type LatencySummary, round, summariseLatencies } from '../statistics.ts';
import { type Bench, watchResources } from './bench.ts';

interface Measured extends LatencySummary {
  /** Of API and ClickHouse together; unlike the clock it hardly depends on who else uses the machine. */
  cpu_ms: number | null;
}

/** Both have 300,000 spans. */
const shapes = [
  { traces: 30_000, spansPerTrace: 10 },
  { traces: 600, spansPerTrace: 500 },
] as const;
const requestsPerRead = 60;
const warmUps = 10;
const mergesPollMs = 500;
const sampleEveryMs = 1_000;
const partsMax = 8;
const unmerged = `SELECT (SELECT count() FROM system.merges)::Float64 AS merges,
  (SELECT count() FROM system.parts WHERE active AND table = 'spans')::Float64 AS parts`;

/** One reader at a time: how long a list, a detail, a hierarchy and a timeline take with 300,000 spans stored. */
export async function reads(bench: Bench): Promise<object> {
  const results: object[] = [];
  for (const shape of shapes) {
    bench.say(`  storing ${shape.traces} traces of ${shape.spansPerTrace} spans`);
    const startedAtMs = performance.now();
    await bench.clickhouse.command({ query: 'TRUNCATE TABLE spans' });
    await bench.clickhouse.command({ query: 'TRUNCATE TABLE executions' });
    await bench.clickhouse.command({ query: 'TRUNCATE TABLE execution_versions' });
    const traceIds = await seedExecutions(bench.clickhouse, { projectId: bench.target.projectId, ...shape });
    const seedS = round((performance.now() - startedAtMs) / 1_000, 1);
    await untilMerged(bench);
    collectGarbage();
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

/** What seeding left behind would otherwise be collected between two measured moments. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
}

/** Until the worker has had the parts merged, as it does at quiet moments. */
async function untilMerged({ clickhouse }: Bench): Promise<void> {
  for (;;) {
    const result = await clickhouse.query({ query: unmerged, format: 'JSONEachRow' });
    const [row] = await result.json<{ merges: number; parts: number }>();
    if (row?.merges === 0 && row.parts <= partsMax) return;
    await delay(mergesPollMs);
  }
}

async function measureAll(
  bench: Bench,
  requests: Readonly<Record<string, (turn: number) => string>>,
  turnStart: number,
): Promise<object> {
  const measured: Record<string, Measured | 'absent'> = {};
  for (const [name, pathOf] of Object.entries(requests)) {
    measured[name] = await measureOne(bench, (turn) => pathOf(turnStart + turn));
    bench.say(`  ${name}: ${JSON.stringify(measured[name])}`);
  }
  return measured;
}

/** Throws when an answer is neither 200 nor says that there is no such route. */
async function measureOne(bench: Bench, pathOf: (turn: number) => string): Promise<Measured | 'absent'> {
  const { url, projectId, apiKey } = bench.target;
  const latenciesMs: number[] = [];
  const watch = watchResources(bench, sampleEveryMs);
  for (let turn = -warmUps; turn < requestsPerRead; turn++) {
    const path = pathOf(turn);
    const startedAtMs = performance.now();
    const response = await fetch(`${url}/api/projects/${projectId}/${path}`, { headers: { 'X-API-Key': apiKey } });
    // Bytes: what a client makes of them is not what is measured.
    const bytes = await response.arrayBuffer();
    const elapsedMs = performance.now() - startedAtMs;
    const text = response.status === 200 ? '' : Buffer.from(bytes).toString();
    if (response.status !== 200) watch.stop();
    if (response.status === 404 && text.includes('route_not_found')) return 'absent';
    if (response.status !== 200) throw new Error(`${path} answered ${response.status}: ${text.slice(0, 500)}`);
    if (turn >= 0) latenciesMs.push(elapsedMs);
  }
  const { api, clickhouse } = watch.stop().byProcess;
  const cpuS = api?.cpu_s == null || clickhouse?.cpu_s == null ? null : api.cpu_s + clickhouse.cpu_s;
  return {
    ...summariseLatencies(Float64Array.from(latenciesMs)),
    cpu_ms: cpuS === null ? null : round((cpuS * 1_000) / (requestsPerRead + warmUps), 1),
  };
}
