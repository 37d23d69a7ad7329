import { once } from 'node:events';
import { connect } from 'node:net';
import pg from 'pg';
import { CannotStart } from './errors.ts';

/** Address of an engine: a host and port, or the path of a socket. */
interface Address {
  host: string;
  port: number;
}

const ANSWER_TIMEOUT_MS = 3_000;

const ENGINES = [
  { variable: 'DATABASE_URL', engine: 'Postgres', addressOf: postgresAddress },
  { variable: 'DATABASE_MIGRATE_URL', engine: 'Postgres', addressOf: postgresAddress },
  { variable: 'REDIS_URL', engine: 'Redis', addressOf: (url: string) => urlAddress(url, 6379) },
  {
    variable: 'CLICKHOUSE_URL',
    engine: 'ClickHouse',
    addressOf: (url: string) => urlAddress(url, url.startsWith('https') ? 443 : 80),
  },
] as const;

/**
 * Throws CannotStart with a line for every engine of the environment that accepts no connection,
 * without user and password.
 */
export async function requireReachable(env: NodeJS.ProcessEnv): Promise<void> {
  const looks = ENGINES.map(async ({ variable, engine, addressOf }) => {
    const url = env[variable];
    if (!url) return [];
    const fault = await connectionFault(() => addressOf(url));
    const embedded = variable === 'DATABASE_MIGRATE_URL' ? '' : `, or unset it, and up starts ${engine}`;
    return fault === undefined ? [] : [`${variable}: ${fault}: start that ${engine} or correct ${variable}${embedded}`];
  });
  const faults = (await Promise.all(looks)).flat();
  if (faults.length > 0) throw new CannotStart(faults.join('\n✗ '));
}

async function connectionFault(readAddress: () => Address): Promise<string | undefined> {
  let address: Address;
  try {
    address = readAddress();
  } catch (error) {
    return (error as Error).message;
  }
  const { host, port } = address;
  const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect({ host, port });
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) });
    return undefined;
  } catch (error) {
    return reason(error as NodeJS.ErrnoException, `${host.includes(':') ? `[${host}]` : host}:${port}`);
  } finally {
    // Later errors of the socket are ignored.
    socket.on('error', () => undefined).destroy();
  }
}

function reason({ name, code, message }: NodeJS.ErrnoException, at: string): string {
  if (name === 'AbortError') return `no response from ${at} within ${ANSWER_TIMEOUT_MS / 1_000} s`;
  if (code === 'ECONNREFUSED') return `nothing listens at ${at} (ECONNREFUSED)`;
  if (code === 'ENOTFOUND') return `the host ${at} does not exist (ENOTFOUND)`;
  return `no connection to ${at} (${code ?? message})`;
}

/** Reads the URL like the driver, with its defaults and those of the variables of libpq. */
function postgresAddress(url: string): Address {
  const { host, port } = new pg.Client({ connectionString: url });
  return { host, port };
}

function urlAddress(url: string, defaultPort: number): Address {
  const { hostname, port } = new URL(url);
  const [first = ''] = hostname.split(','); // Of a cluster of Redis, any node.
  return { host: first.replace(/^\[|\]$/g, '') || 'localhost', port: Number(port || defaultPort) };
}
