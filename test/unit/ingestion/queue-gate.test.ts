import type { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type KeepBodyDeps, keepBody } from '../../../src/domains/ingestion/receive/keep-body.ts';
import { QueueGate } from '../../../src/domains/ingestion/receive/queue-gate.ts';
import { refusalOf } from '../../../src/domains/ingestion/receive/queue-refusal.ts';
import type { ProjectScope } from '../../../src/domains/workspaces/index.ts';
import { RateLimitedError, UnavailableError } from '../../../src/lib/errors.ts';
import { RedisClock } from '../../../src/queue/redis-clock.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';

const megabyte = 1024 * 1024;

/** The lines of INFO that matter, as Redis writes them; changed by `given`. */
function info(given: Record<string, string | number> = {}): string {
  const fields = {
    loading: 0,
    aof_enabled: 1,
    aof_last_write_status: 'ok',
    used_memory: 10 * megabyte,
    used_memory_peak: 900 * megabyte,
    maxmemory: 0,
    maxmemory_policy: 'noeviction',
    ...given,
  };
  const lines = Object.entries(fields).map(([name, value]) => `${name}:${value}`);
  return `# Persistence\r\n${lines.join('\r\n')}\r\n`;
}

const refusal = (given: Record<string, string | number>, waitingSinceMs?: number) =>
  refusalOf(info(given), waitingSinceMs, 100 * megabyte);

describe('bodies are taken', () => {
  test.each([
    ['as Redis is set up by `up`', {}],
    ['just below the bound of ours', { used_memory: 100 * megabyte }],
    ['just below 60 % of the bound of Redis', { maxmemory: 1_000 * megabyte, used_memory: 599 * megabyte }],
  ])('%s', (_circumstance, given) => {
    expect(refusal(given)).toBeUndefined();
  });
  test.each([
    ['while the next one is 14 minutes late', -14],
    ['while the turn of the next one comes in an hour', 60],
  ])('%s', (_circumstance, minutes) => {
    expect(refusal({}, Date.now() + minutes * 60_000)).toBeUndefined();
  });
});

describe('bodies are refused', () => {
  test.each([
    ['while Redis loads', { loading: 1 }, /loading/],
    ['without the append-only file', { aof_enabled: 0 }, /appendonly yes/],
    ['when the append-only file cannot be written', { aof_last_write_status: 'err' }, /cannot write/],
    ['when Redis may evict', { maxmemory_policy: 'allkeys-lru' }, /noeviction/],
    ['over the bound of ours', { used_memory: 100 * megabyte + 1 }, /104857601 bytes/],
    ['over 60 % of the bound of Redis', { maxmemory: 1_000 * megabyte, used_memory: 601 * megabyte }, /629145600/],
  ])('%s', (_circumstance, given, words) => {
    expect(refusal(given)).toMatch(words);
  });
  test('when the next one is 16 minutes late', () => {
    expect(refusal({}, Date.now() - 16 * 60_000)).toMatch(/15 minutes/);
  });
  test('when INFO says nothing', () => {
    expect(refusalOf('', undefined, megabyte)).toMatch(/append-only/);
  });
});

describe('what comes between two looks at Redis', () => {
  let usedBytes: number;
  let gate: QueueGate;
  beforeEach(async () => {
    vi.useFakeTimers();
    usedBytes = 95 * megabyte;
    // Of Redis the gate sees what INFO and TIME answer.
    const redis = {
      status: 'ready',
      info: async () => info({ used_memory: usedBytes }),
      time: async () => [Math.floor(Date.now() / 1_000), 0],
    };
    gate = new QueueGate({
      redis: redis as unknown as Redis,
      logger: createLogger({ level: 'silent', name: 'test' }),
      clock: new RedisClock(),
      waitingSinceMs: async () => undefined,
      backlogOf: async () => ({ bytes: 0, cost: 0 }),
      memoryBytesMax: 100 * megabyte,
    });
    await gate.start();
  });
  afterEach(() => {
    gate.close();
    vi.useRealTimers();
  });

  /** How many of so many bodies of a megabyte that come at once are taken. */
  function burst(count: number): number {
    let taken = 0;
    for (let body = 0; body < count; body++) {
      try {
        gate.take(megabyte);
        taken++;
      } catch (error) {
        expect(error).toBeInstanceOf(UnavailableError);
        expect(error).toMatchObject({ code: 'ingest_unavailable', retryAfterS: 1 });
      }
    }
    return taken;
  }

  test('is taken until it fills what was left at the last look, and not a byte beyond', () => {
    gate.assertOpen();
    expect(burst(20)).toBe(5);
    expect(() => gate.take(1)).toThrow(/the queue is full/);
  });

  test('is charged as a whole only when it is taken, and given back when the charge is refused', async () => {
    const project: ProjectScope = { projectId: 'prj_1', workspaceId: 'wsp_1', plan: 'free', overrides: {} };
    const charged: string[] = [];
    const published: string[] = [];
    const deps = {
      gate,
      clock: new RedisClock(),
      publisher: {
        publish: async (jobId: string) => {
          published.push(jobId);
          return { backlog: { bytes: 0, cost: 0 } };
        },
      },
    } as unknown as KeepBodyDeps;
    const keep = (jobId: string, megabytes: number, isWithinQuota = true) => {
      const facts = { encoding: 'json', coding: 'identity', inflatedBytes: 1, spans: 1, receivedAtMs: 1 } as const;
      const received = { ...facts, jobId, body: Buffer.alloc(megabytes * megabyte) };
      return keepBody(deps, project, received, {
        kept: async () => {
          charged.push(jobId);
          if (!isWithinQuota) throw new RateLimitedError('rate_limited', 'Over the rate.');
          return [];
        },
        refused: async () => charged.push(`the bytes of ${jobId}`),
      });
    };
    await expect(keep('too large', 6)).rejects.toThrow(/the queue is full/);
    await expect(keep('over its rate', 4, false)).rejects.toThrow(RateLimitedError);
    await keep('fits', 4);
    expect(charged).toEqual(['the bytes of too large', 'over its rate', 'fits']);
    expect(published).toEqual(['fits']);
  });

  test('is taken again up to what the next look finds left', async () => {
    expect(burst(20)).toBe(5);
    usedBytes = 98 * megabyte;
    await vi.advanceTimersByTimeAsync(500);
    expect(burst(20)).toBe(2);
    usedBytes = 100 * megabyte;
    await vi.advanceTimersByTimeAsync(500);
    expect(burst(20)).toBe(0);
  });

  test('is refused as a whole, with the reason, once a look has found too much', async () => {
    usedBytes = 101 * megabyte;
    await vi.advanceTimersByTimeAsync(500);
    expect(() => gate.take(1)).toThrow(/the queue has \d+ bytes/);
    usedBytes = 50 * megabyte;
    await vi.advanceTimersByTimeAsync(100);
    expect(burst(60)).toBe(50);
  });
});
