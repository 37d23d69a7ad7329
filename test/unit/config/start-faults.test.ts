import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** Runs a program of the product with these variables alone. */
function run(program: string, env: NodeJS.ProcessEnv): Promise<{ code: unknown; said: string }> {
  return new Promise((resolve) => {
    const options = { cwd: root, env: { PATH: process.env.PATH, ...env } };
    execFile(process.execPath, ['--import', 'tsx', program], options, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, said: stdout + stderr }),
    );
  });
}

const needed = {
  'src/main.ts': ['DATABASE_URL', 'REDIS_URL', 'CLICKHOUSE_URL', 'ADMIN_API_KEY', 'API_KEY_PEPPER'],
  'workers/main.ts': ['DATABASE_URL', 'REDIS_URL', 'CLICKHOUSE_URL', 'ADMIN_API_KEY', 'API_KEY_PEPPER'],
  'src/cli/migrate.ts': ['DATABASE_URL', 'CLICKHOUSE_URL'],
};

describe('a program that cannot start', () => {
  test.each(Object.entries(needed))(
    '%s without variables names those that are required, and nothing else',
    async (program, names) => {
      const faults = names.map((name) => `  ${name}: is required\n`).join('');
      expect(await run(program, {})).toEqual({
        code: 1,
        said: `These environment variables are missing or not valid:\n${faults}README.md lists all variables.\n`,
      });
    },
  );

  test('migrations while Postgres is away say so in one line', async () => {
    const env = { DATABASE_URL: 'postgres://127.0.0.1:1/x', CLICKHOUSE_URL: 'http://127.0.0.1:1' };
    expect(await run('src/cli/migrate.ts', env)).toEqual({
      code: 1,
      said: 'The database cannot be reached at the moment. (connect ECONNREFUSED 127.0.0.1:1)\n',
    });
  });
});
