import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../../dev/ports.ts';
import { spawnChild } from '../../../dev/process/child.ts';
import { ensureRedisBinary } from '../../../dev/redis/binary.ts';
import { connectRequestRedis } from '../../../src/stores/redis/client.ts';
import { until } from '../until.ts';

/** A Redis with a slow fsync. It can be killed and started again with the same append-only file. */
export interface SlowDiskRedis {
  url: string;
  /** From now on, an fsync takes this much longer. */
  delayFsync(delayMs: number): void;
  kill(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

const source = fileURLToPath(new URL('./slow-fsync.c', import.meta.url));

/** With `writesWait`, a write waits for the running fsync, and Redis waits too. */
export async function startSlowDiskRedis(
  fsyncDelayMs: number,
  { writesWait = false }: { writesWait?: boolean } = {},
): Promise<SlowDiskRedis> {
  const directory = mkdtempSync(join(tmpdir(), 'promptlane-slow-disk-'));
  const library = join(directory, 'slow-fsync.so');
  const delayFile = join(directory, 'fsync-delay');
  const delayFsync = (delayMs: number) => writeFileSync(delayFile, String(delayMs));
  delayFsync(fsyncDelayMs);
  execFileSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, source, '-ldl']);
  const { path } = await ensureRedisBinary();
  const port = await freePort();
  const url = `redis://127.0.0.1:${port}`;
  const options = ['--port', String(port), '--bind', '127.0.0.1', '--dir', directory, '--save', ''];
  const launch = () =>
    spawnChild({
      command: path,
      args: [...options, '--appendonly', 'yes', '--appendfsync', 'everysec', '--maxmemory-policy', 'noeviction'],
      cwd: directory,
      logFile: join(directory, 'redis.log'),
      env: {
        ...{ PATH: process.env.PATH, LD_PRELOAD: library, FSYNC_DELAY_FILE: delayFile },
        ...(writesWait && { WRITES_WAIT: '1' }),
      },
    });
  let child = await launch();
  await untilReady(url);
  return {
    url,
    delayFsync,
    kill: () => child.stop('SIGKILL', 10_000),
    async start() {
      child = await launch();
      await untilReady(url);
    },
    async stop() {
      await child.stop('SIGKILL', 10_000);
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function untilReady(url: string): Promise<void> {
  const redis = connectRequestRedis(url);
  redis.on('error', () => undefined);
  await until('Redis is ready', 30_000, async () => (await redis.ping()) === 'PONG');
  redis.disconnect();
}
