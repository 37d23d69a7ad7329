import { describe, expect, test, vi } from 'vitest';
import { KeyUses } from '../../../src/domains/auth/key-uses.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';

const logger = createLogger({ level: 'silent', name: 'test' });

describe('the last use of keys', () => {
  test('is written for many uses at once, and for a key at most once a minute', async () => {
    const written: string[][] = [];
    const uses = new KeyUses({ write: async (keyIds) => void written.push([...keyIds]), logger });
    for (let i = 0; i < 1_000; i++) uses.note(`key_${i % 3}`);
    await expect.poll(() => written).toEqual([['key_0', 'key_1', 'key_2']]);
    uses.note('key_0');
    await uses.flush();
    expect(written).toHaveLength(1);
    const realNow = performance.now.bind(performance);
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => realNow() + 60_001);
    uses.note('key_0');
    clock.mockRestore();
    await uses.flush();
    expect(written.at(-1)).toEqual(['key_0']);
  });

  test('that could not be written is noted again by the next use', async () => {
    let away = true;
    const written: string[][] = [];
    const write = async (keyIds: readonly string[]) => {
      if (away) throw new Error('away');
      written.push([...keyIds]);
    };
    const uses = new KeyUses({ write, logger });
    uses.note('key_0');
    await uses.flush();
    away = false;
    uses.note('key_0');
    await uses.flush();
    expect(written).toEqual([['key_0']]);
  });
});
