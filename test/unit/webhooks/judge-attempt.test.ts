import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { judgeAttempt, webhookTimes } from '../../../src/domains/webhooks/judge-attempt.ts';
import type { SendResult } from '../../../src/domains/webhooks/send-webhook.ts';

const hourMs = 3_600_000;
const fresh = { consecutiveFailures: 0, failingForMs: 0, expiresInMs: 24 * hourMs, attempts: 1, isOfFormerUrl: false };
const ok: SendResult = { status: 200, body: '', error: null, retryAfterMs: null };
const error = (status: number, retryAfterMs: number | null = null): SendResult => ({
  ...{ status, body: '', retryAfterMs },
  error: `The receiver responded with ${status}`,
});

const judge = (state: Partial<typeof fresh>, result: SendResult, random = 0.5) =>
  judgeAttempt(webhookTimes, { ...fresh, ...state }, { result, durationMs: 20, random });

describe('an attempt', () => {
  test('with a response 2xx ends the delivery and the pause of the endpoint', () => {
    expect(judge({ consecutiveFailures: 9 }, ok)).toMatchObject({ status: 'succeeded', pauseMs: null, disabled: null });
  });

  test('that fails is repeated within 30 s, then later and later, each time within 20 % of the plan', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 30 }), fc.double({ min: 0, max: 1, noNaN: true }), (attempts, random) => {
        const plan = webhookTimes.retriesMs[Math.min(attempts, webhookTimes.retriesMs.length) - 1] ?? 0;
        const { status, retryInMs } = judge({ attempts }, error(500), random);
        expect(status).toBe('pending');
        expect(Math.abs(retryInMs - plan)).toBeLessThanOrEqual(plan * 0.2 + 0.001);
      }),
    );
    expect(judge({}, error(500), 1).retryInMs).toBeLessThan(30_000);
  });

  test('that fails shortly before the end of the 24 hours is the last one', () => {
    expect(judge({ attempts: 12, expiresInMs: hourMs }, error(500)).status).toBe('failed');
  });

  test('that is answered with Retry-After is repeated then, and the endpoint pauses, for an hour at most', () => {
    expect(judge({}, error(503, 120_000))).toMatchObject({ retryInMs: 120_000, pauseMs: 120_000 });
    expect(judge({}, error(429, 86_400_000))).toMatchObject({ retryInMs: hourMs, pauseMs: hourMs });
  });

  test('that is answered with 410 ends the delivery and disables the webhook', () => {
    expect(judge({}, error(410))).toMatchObject({ status: 'failed', disabled: 'gone' });
  });
});

describe('an endpoint', () => {
  test('pauses from its fifth consecutive failure, for 15 minutes at most', () => {
    expect(judge({ consecutiveFailures: 3 }, error(500)).pauseMs).toBeNull();
    expect(judge({ consecutiveFailures: 4 }, error(500)).pauseMs).toBe(2_000);
    expect(judge({ consecutiveFailures: 400 }, error(500)).pauseMs).toBe(900_000);
  });

  test('is disabled after 24 hours and ten failures without a success', () => {
    const day = 24 * hourMs;
    expect(judge({ consecutiveFailures: 9, failingForMs: day }, error(500)).disabled).toBe('failing');
    expect(judge({ consecutiveFailures: 8, failingForMs: day }, error(500)).disabled).toBeNull();
    expect(judge({ consecutiveFailures: 90, failingForMs: day - 1 }, error(500)).disabled).toBeNull();
  });

  test('counts as slow after more than half a second', () => {
    const slow = judgeAttempt(webhookTimes, fresh, { result: ok, durationMs: 501, random: 0 });
    expect([slow.slow, judge({}, ok).slow]).toEqual([true, false]);
  });
});
