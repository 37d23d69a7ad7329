import { environmentFaults } from '../../src/config.ts';

/** Valid values for the variables that `up` sets if they are missing. */
const fillers: NodeJS.ProcessEnv = {
  DATABASE_URL: 'postgres://localhost',
  REDIS_URL: 'redis://localhost',
  CLICKHOUSE_URL: 'http://localhost',
  ADMIN_API_KEY: 'x'.repeat(24),
  API_KEY_PEPPER: 'x'.repeat(24),
};

/** Returns the faults of the set variables by the rules of the processes, as "NAME: why" and never with a value. */
export function givenFaults(env: NodeJS.ProcessEnv): string[] {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value));
  return environmentFaults({ ...fillers, ...given });
}
