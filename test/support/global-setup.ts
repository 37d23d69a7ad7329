import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { startThrowawayEngines } from '../../dev/engines.ts';
import { describeExit } from '../../dev/process/child.ts';
import { lastLines } from '../../dev/process/log-file.ts';
import { startReaper } from '../../dev/process/reaper.ts';
import { serviceUrlOf } from '../../dev/service-url.ts';
import { migrate } from '../../src/migrate.ts';
import { type EngineUrls, randomSecret, spawnWorker } from './worker-process.ts';

declare module 'vitest' {
  export interface ProvidedContext extends EngineUrls {
    /** Of the tables' owner, for what tests themselves do; `databaseUrl` is what the product connects as. */
    ownerUrl: string;
  }
}

interface Stack extends EngineUrls {
  ownerUrl: string;
  stop(): Promise<void>;
}

interface SharedStack {
  started: Promise<Stack>;
  users: number;
}

// vitest loads this file once per project, each time as a module of its own, but all in one process.
const holder: { promptlaneTestStack?: SharedStack } & typeof globalThis = globalThis;

/** One set of migrated engines and one worker for all projects of a run; the last project to end stops them. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const shared = holder.promptlaneTestStack ?? { started: startStack(), users: 0 };
  holder.promptlaneTestStack = shared;
  shared.users += 1;
  const stack = await shared.started;
  project.provide('databaseUrl', stack.databaseUrl);
  project.provide('ownerUrl', stack.ownerUrl);
  project.provide('redisUrl', stack.redisUrl);
  project.provide('clickhouseUrl', stack.clickhouseUrl);
  return async () => {
    shared.users -= 1;
    if (shared.users > 0) return;
    delete holder.promptlaneTestStack;
    await stack.stop();
  };
}

async function startStack(): Promise<Stack> {
  const engines = await startThrowawayEngines();
  const urls = {
    databaseUrl: serviceUrlOf(engines.postgres.url, randomSecret()),
    redisUrl: engines.redis.url,
    clickhouseUrl: engines.clickhouse.url,
  };
  try {
    const ownerUrl = engines.postgres.url;
    await migrate({ ...urls, databaseUrl: ownerUrl, serviceUrl: urls.databaseUrl });
    const endWorker = await startWorker(urls);
    return {
      ...urls,
      ownerUrl,
      async stop() {
        await endWorker();
        await engines.stop();
      },
    };
  } catch (error) {
    await engines.stop();
    throw error;
  }
}

/** Resolves to what ends the worker. One that dies before says so, because the tests would only see a deadline pass. */
async function startWorker(urls: EngineUrls): Promise<() => Promise<void>> {
  const directory = mkdtempSync(join(tmpdir(), 'promptlane-worker-'));
  const logFile = join(directory, 'worker.log');
  const reaper = startReaper(directory);
  const worker = await spawnWorker(urls, logFile);
  reaper.watch(worker);
  let ending = false;
  void worker.exited.then((exit) => {
    if (!ending) console.error(`The worker died (${describeExit(exit)}):\n${lastLines(logFile, 30)}`);
  });
  return async () => {
    ending = true;
    await worker.end();
    await reaper.close();
    rmSync(directory, { recursive: true, force: true });
  };
}
