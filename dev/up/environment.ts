import { environmentFaults } from '../../src/config.ts';

/** Values that pass, for what `up` itself fills in where the environment gives nothing. */
const fillers: NodeJS.ProcessEnv = {
  DATABASE_URL: 'postgres://localhost',
  REDIS_URL: 'redis://localhost',
  CLICKHOUSE_URL: 'http://localhost',
  ADMIN_API_KEY: 'x'.repeat(24),
  API_KEY_PEPPER: 'x'.repeat(24),
};

/** What is wrong with the variables that are set, by the rules of the processes, as "NAME: why" and never with a value. */
export function givenFaults(env: NodeJS.ProcessEnv): string[] {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value));
  return environmentFaults({ ...fillers, ...given });
}
