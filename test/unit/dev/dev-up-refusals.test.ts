import { once } from 'node:events';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { freePort } from '../../../dev/ports.ts';
import { requireReachable } from '../../../dev/up/reachable.ts';
import { newDataDir, runUp } from '../../support/run-up.ts';

describe('up', () => {
  let dataDir: string;
  beforeEach(() => {
    dataDir = newDataDir();
  });
  afterEach(() => rmSync(dataDir, { recursive: true }));

  it('with variables that are not valid, names every one without its value, and writes nothing', async () => {
    const faulty = { JWT_SECRET: 'tooshort', API_KEY_PEPPER: 'pepper', LOG_LEVEL: 'loud', JWT_JWKS_URL: 'junk' };
    const urls = { DATABASE_URL: 'sekret', DATABASE_MIGRATE_URL: 'http://u:sekret@localhost' };
    const run = runUp(dataDir, 0, { ...faulty, ...urls });
    expect(await run.exitCode).toBe(1);
    expect(run.output().trim().split('\n')).toEqual([
      '✗ the environment is not valid, so nothing was started or stored:',
      '    PORT: must be a whole number from 1 to 65535, not "0"',
      '    DATABASE_URL: Invalid URL',
      '    API_KEY_PEPPER: must be at least 24 characters',
      '    JWT_SECRET: must be at least 32 bytes',
      '    JWT_JWKS_URL: Invalid URL',
      expect.stringMatching(/^ {4}LOG_LEVEL: .*"debug"/),
      '    DATABASE_MIGRATE_URL: Invalid URL',
      '  README.md lists all variables.',
    ]);
    expect(readdirSync(dataDir)).toEqual([]);
  });

  it('with an engine that is not there, ends with one line that says which and where, and stores no secret', async () => {
    const nowhere = await freePort();
    const run = runUp(dataDir, await freePort(), { DATABASE_URL: `postgres://user:sekret@127.0.0.1:${nowhere}/db` });
    expect(await run.exitCode).toBe(1);
    expect(run.output().trim()).toBe(
      `✗ DATABASE_URL: nothing listens at 127.0.0.1:${nowhere} (ECONNREFUSED): ` +
        'start that Postgres or correct DATABASE_URL, or unset it, and up starts Postgres',
    );
    expect(existsSync(join(dataDir, 'secrets.json'))).toBe(false);
  });
});

describe('requireReachable', () => {
  const listener = createServer((socket) => socket.destroy());
  let open: number;
  let closed: number;
  beforeAll(async () => {
    listener.listen(0, '127.0.0.1');
    await once(listener, 'listening');
    open = (listener.address() as AddressInfo).port;
    closed = await freePort();
  });
  afterAll(() => void listener.close());

  it('takes engines that listen, and those that are not named', async () => {
    await requireReachable({ DATABASE_URL: `postgres://127.0.0.1:${open}/db`, REDIS_URL: `redis://localhost:${open}` });
    await requireReachable({ DATABASE_URL: '' });
  });

  it('names all that do not, and never a password', async () => {
    const failure = await requireReachable({
      DATABASE_URL: `postgres://127.0.0.1:${open}/db`,
      DATABASE_MIGRATE_URL: `postgres://owner:sekret@127.0.0.1:${closed}/db`,
      REDIS_URL: `redis://:sekret@127.0.0.1:${closed}`,
      CLICKHOUSE_URL: `http://user:sekret@engine.invalid:8123/db`,
    }).catch((error: Error) => error.message.split('\n'));
    expect(failure).toEqual([
      expect.stringMatching(
        `^DATABASE_MIGRATE_URL: .* 127.0.0.1:${closed} .*: start that Postgres or correct DATABASE_MIGRATE_URL$`,
      ),
      expect.stringMatching(`^✗ REDIS_URL: .* 127.0.0.1:${closed} .*: start that Redis`),
      expect.stringMatching('^✗ CLICKHOUSE_URL: .* engine.invalid:8123 .*: start that ClickHouse'),
    ]);
    expect(String(failure)).not.toContain('sekret');
  });
});
