import { describe, expect, test } from 'vitest';
import { RefusedCredentials } from '../../../src/domains/quotas/index.ts';
import { RateLimitedError, UnauthenticatedError } from '../../../src/lib/errors.ts';

const refuse = async () => {
  throw new UnauthenticatedError('invalid_credentials', 'no');
};

async function attempts(counter: RefusedCredentials, address: string, times: number): Promise<string[]> {
  const names: string[] = [];
  for (let i = 0; i < times; i++) {
    names.push(await counter.count(address, refuse).catch((error: Error) => error.name));
  }
  return names;
}

describe('refused credentials', () => {
  test('beyond 600 a minute from one address are answered 429, while others and good ones are not', async () => {
    const counter = new RefusedCredentials(() => 0);
    const names = await attempts(counter, '203.0.113.9', 603);
    expect(names.slice(0, 600).every((name) => name === 'UnauthenticatedError')).toBe(true);
    expect(names.slice(600)).toEqual(['RateLimitedError', 'RateLimitedError', 'RateLimitedError']);
    await expect(counter.count('203.0.113.9', async () => 'in')).resolves.toBe('in');
    await expect(counter.count('203.0.113.8', refuse)).rejects.toBeInstanceOf(UnauthenticatedError);
  });

  test('are let try again as time passes', async () => {
    const clock = { nowMs: 0 };
    const counter = new RefusedCredentials(() => clock.nowMs);
    await attempts(counter, '203.0.113.9', 600);
    const error = await counter.count('203.0.113.9', refuse).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(RateLimitedError);
    expect(error).toMatchObject({ retryAfterS: 0.1 });
    clock.nowMs += 100;
    await expect(counter.count('203.0.113.9', refuse)).rejects.toBeInstanceOf(UnauthenticatedError);
  });

  test('of this machine are not counted: a proxy there speaks for everybody', async () => {
    for (const address of ['127.0.0.1', '::1', '::ffff:127.0.0.1']) {
      const names = await attempts(new RefusedCredentials(() => 0), address, 700);
      expect(new Set(names)).toEqual(new Set(['UnauthenticatedError']));
    }
  });
});
