import { writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os';
import { connectClickHouse } from '../src/stores/clickhouse/client.ts';
import { LoadGenerator } from './load-generator.ts';
import { help, type Options, readOptions } from './options.ts';
import { build, type OwnTarget, startOwnTarget } from './own-target.ts';
import { summarizeProfiles } from './profile.ts';
import { renderReport } from './report/render-report.ts';
import { ack } from './scenarios/ack.ts';
import { analytics } from './scenarios/analytics.ts';
import type { Bench } from './scenarios/bench.ts';
import { bomb } from './scenarios/bomb.ts';
import { freshness, records } from './scenarios/freshness.ts';
import { growth } from './scenarios/growth.ts';
import type { ScenarioName } from './scenarios/names.ts';
import { overload } from './scenarios/overload.ts';
import { reads } from './scenarios/reads.ts';
import { render } from './scenarios/render.ts';
import { requests } from './scenarios/requests.ts';
import { throughput } from './scenarios/throughput.ts';
import { round } from './statistics.ts';
import type { Target } from './target.ts';

const scenarios: Readonly<Record<ScenarioName, (bench: Bench) => Promise<object>>> = {
  throughput,
  ack,
  freshness,
  records,
  overload,
  bomb,
  render,
  reads,
  requests,
  analytics,
  growth,
};
const queryTimeoutMs = 60_000;

/** Clean-up functions. They run in reverse order at the end of the run. */
const undo: (() => Promise<void> | void)[] = [];
const interrupted = new Promise<never>((_, reject) => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => reject(new Error(signal)));
});
interrupted.catch(() => undefined);

process.exitCode = await main();
process.exit();

async function main(): Promise<number> {
  try {
    const options = readOptions(process.argv.slice(2));
    if (options === undefined) console.log(help);
    else await Promise.race([run(options), interrupted]);
    return 0;
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    return 1;
  } finally {
    for (const step of undo.reverse()) await step();
  }
}

async function run(options: Options): Promise<void> {
  const machine = { ...describeMachine(), load_before: loadavg().map((load) => round(load, 2)) };
  const own = options.running === undefined ? await startOwn(options) : undefined;
  const target: Target = own ?? { pids: {}, versions: {}, ...required(options.running) };
  const load = new LoadGenerator({ url: target.url, apiKey: target.apiKey, projectId: target.projectId });
  undo.push(() => load.stop());
  const clickhouse = connectClickHouse(target.clickhouseUrl, { requestTimeoutMs: queryTimeoutMs });
  undo.push(() => clickhouse.close());
  const versions = { node: process.version, ...target.versions, clickhouse: await readVersion(clickhouse) };

  const bench: Bench = { options, target, load, clickhouse, say };
  const results: Partial<Record<ScenarioName, object>> = {};
  for (const name of options.scenarios) {
    say(`${name} …`);
    results[name] = await scenarios[name](bench);
  }
  const report = {
    at: new Date().toISOString(),
    machine: { ...machine, load_after: loadavg().map((load) => round(load, 2)) },
    versions,
    processes: own === undefined ? 'running before' : options.fromSource ? 'from source' : 'production build',
    scenarios: results,
    ...(own !== undefined && options.profile && { profiles: await readProfiles(own) }),
  };
  const json = JSON.stringify(report, undefined, 2);
  console.log(json);
  if (options.jsonFile !== undefined) writeFileSync(options.jsonFile, `${json}\n`);
  if (options.htmlFile !== undefined) writeFileSync(options.htmlFile, renderReport(report));
}

async function startOwn(options: Options): Promise<OwnTarget> {
  if (!options.fromSource) {
    say('building …');
    await build();
  }
  say('starting engines, API and worker …');
  const own = await startOwnTarget(options);
  undo.push(() => own.stop());
  return own;
}

async function readProfiles(own: OwnTarget): Promise<object> {
  await own.stopApps();
  return summarizeProfiles(own.profileDir);
}

async function readVersion(clickhouse: ReturnType<typeof connectClickHouse>): Promise<string> {
  const result = await clickhouse.query({ query: 'SELECT version() AS version', format: 'JSONEachRow' });
  const [row] = await result.json<{ version: string }>();
  return row?.version ?? 'unknown';
}

function describeMachine() {
  const [cpu] = cpus();
  return {
    cores: availableParallelism(),
    cpu: cpu?.model.trim() ?? 'unknown',
    memory_gib: round(totalmem() / 1024 ** 3, 1),
    platform: `${process.platform} ${process.arch}`,
  };
}

function required<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('No instance was started, and none was given');
  return value;
}

function say(line: string): void {
  console.error(line);
}
