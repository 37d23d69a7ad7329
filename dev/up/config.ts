import { resolve } from 'node:path';
import type { EngineName } from '../engines.ts';
import { givenFaults } from './environment.ts';
import { CannotStart } from './errors.ts';

/** Where the simulated model of `npm run demo:optimize` is. The service looks there if it is not told of another one. */
export const demoModelUrl = 'http://127.0.0.1:8791/v1';

export interface UpConfig {
  host: string;
  port: number;
  dataDir: string;
  /** Address of the API for clients on this machine. */
  url: string;
  /** Engines that run elsewhere. `up` starts the others. */
  externalUrls: Readonly<Partial<Record<EngineName, string>>>;
  /** Base URL of the models of optimizations. */
  llmBaseUrl: string;
}

export const ENGINE_VARIABLES: Readonly<Record<EngineName, string>> = {
  postgres: 'DATABASE_URL',
  redis: 'REDIS_URL',
  clickhouse: 'CLICKHOUSE_URL',
};

/**
 * Reads the variables of `up`. The started processes get the other variables. Throws CannotStart
 * with every fault of the whole environment, so that nothing is started or stored that the
 * processes would refuse.
 */
export function readUpConfig(env: NodeJS.ProcessEnv, root: string): UpConfig {
  const port = Number(env.PORT || 8787);
  // `up` needs the port before the API listens, so port 0 is not possible.
  const isPort = Number.isInteger(port) && port >= 1 && port <= 65_535;
  const portFaults = isPort ? [] : [`PORT: must be a whole number from 1 to 65535, not "${env.PORT}"`];
  const faults = [...portFaults, ...givenFaults({ ...env, PORT: undefined })];
  if (faults.length > 0) throw new CannotStart(refusal(faults));
  const host = env.HOST || '127.0.0.1';
  const externalUrls: Partial<Record<EngineName, string>> = {};
  for (const name of ['postgres', 'redis', 'clickhouse'] as const) {
    const url = env[ENGINE_VARIABLES[name]];
    if (url) externalUrls[name] = url;
  }
  return {
    host,
    port,
    dataDir: resolve(root, env.DATA_DIR || '.data'),
    url: `http://${reachableHost(host)}:${port}`,
    externalUrls,
    llmBaseUrl: env.LLM_BASE_URL || demoModelUrl,
  };
}

function refusal(faults: readonly string[]): string {
  const lines = faults.map((fault) => `    ${fault}`).join('\n');
  return `the environment is not valid, so nothing was started or stored:\n${lines}\n  README.md lists all variables.`;
}

function reachableHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}
