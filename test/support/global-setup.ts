import type { ProvidedContext } from 'vitest';
import type { TestProject } from 'vitest/node';
import { type Engines, startThrowawayEngines } from '../../dev/engines.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    databaseUrl: string;
    redisUrl: string;
    clickhouseUrl: string;
  }
}

interface SharedEngines {
  started: Promise<Engines>;
  users: number;
}

// vitest loads this file once per project, each time as a module of its own, but all in one process.
const holder: { promptlaneTestEngines?: SharedEngines } & typeof globalThis = globalThis;

/** One set of engines for all projects of a run; the last project to end stops them. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const shared = holder.promptlaneTestEngines ?? { started: startThrowawayEngines(), users: 0 };
  holder.promptlaneTestEngines = shared;
  shared.users += 1;
  const engines = await shared.started;
  const urls: ProvidedContext = {
    databaseUrl: engines.postgres.url,
    redisUrl: engines.redis.url,
    clickhouseUrl: engines.clickhouse.url,
  };
  project.provide('databaseUrl', urls.databaseUrl);
  project.provide('redisUrl', urls.redisUrl);
  project.provide('clickhouseUrl', urls.clickhouseUrl);
  return async () => {
    shared.users -= 1;
    if (shared.users > 0) return;
    delete holder.promptlaneTestEngines;
    await engines.stop();
  };
}
