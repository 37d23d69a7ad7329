import { describe, expect, test } from 'vitest';
import { defaultLlmLimits as limits } from '../../../src/llm/limits.ts';
import { pauseMs } from '../../../src/llm/pause.ts';

const wished = (headers: Record<string, string>) => pauseMs({ attempt: 1, headers: new Headers(headers) }, limits);

describe('the pause before the next attempt', () => {
  test.each([
    [{ 'retry-after-ms': '120' }, 120],
    [{ 'retry-after-ms': '120', 'retry-after': '9' }, 120],
    [{ 'retry-after': '2' }, 2_000],
    [{ 'retry-after': '0' }, 0],
    [{ 'retry-after': '86400' }, limits.retryAfterMsMax],
    [{ 'retry-after': 'Thu, 01 Jan 1970 00:00:00 GMT' }, 0],
  ])('is what the endpoint wishes with %j, up to the bound', (headers, ms) => {
    expect(wished(headers)).toBe(ms);
  });

  test('is until the date that the endpoint names', () => {
    const ms = wished({ 'retry-after': new Date(Date.now() + 10_000).toUTCString() });
    expect(ms).toBeGreaterThan(8_000);
    expect(ms).toBeLessThanOrEqual(10_000);
  });

  test.each([{}, { 'retry-after': 'soon' }])('grows and stays bounded with %j', (headers) => {
    for (const attempt of [1, 2, 3, 50]) {
      const ms = pauseMs({ attempt, headers: new Headers(headers) }, limits);
      expect(ms).toBeGreaterThanOrEqual(limits.backoffMsMin / 2);
      expect(ms).toBeLessThanOrEqual(Math.min(limits.backoffMsMax, limits.backoffMsMin * 2 ** attempt));
    }
  });
});
