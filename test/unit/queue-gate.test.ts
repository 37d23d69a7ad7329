import { describe, expect, test } from 'vitest';
import { refusalOf } from '../../src/domains/ingestion/queue-refusal.ts';

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

const refusal = (given: Record<string, string | number>, oldestWaitingAtMs?: number) =>
  refusalOf(info(given), oldestWaitingAtMs, 100 * megabyte);

describe('bodies are taken', () => {
  test.each([
    ['as Redis is set up by `up`', {}],
    ['just below the bound of ours', { used_memory: 100 * megabyte }],
    ['just below 60 % of the bound of Redis', { maxmemory: 1_000 * megabyte, used_memory: 599 * megabyte }],
  ])('%s', (_circumstance, given) => {
    expect(refusal(given)).toBeUndefined();
  });
  test('while the oldest has waited for 14 minutes', () => {
    expect(refusal({}, Date.now() - 14 * 60_000)).toBeUndefined();
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
  test('when the oldest has waited for 16 minutes', () => {
    expect(refusal({}, Date.now() - 16 * 60_000)).toMatch(/15 minutes/);
  });
  test('when INFO says nothing', () => {
    expect(refusalOf('', undefined, megabyte)).toMatch(/append-only/);
  });
});
