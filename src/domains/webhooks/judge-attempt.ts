import type { AttemptState, Verdict } from './attempt-store.ts';
import type { SendResult } from './send-webhook.ts';

/** When attempts are made, in milliseconds. */
export interface WebhookTimes {
  /** How often a worker looks for new events and due deliveries. */
  pollMs: number;
  /** Waits after the first and further failures of a delivery. The last one repeats. */
  retriesMs: readonly number[];
  /** From the event until a delivery fails. */
  windowMs: number;
  /** Longer than an attempt: another worker repeats the attempt of a worker that ended. */
  leaseMs: number;
  timeoutMs: number;
  /** The longest pause of an endpoint that keeps failing. */
  pauseMsMax: number;
  /** The longest time that a receiver may ask for with Retry-After. */
  retryAfterMsMax: number;
  /** An endpoint that only failed for so long, and `failuresToDisable` times, is disabled. */
  disableAfterMs: number;
  failuresToDisable: number;
  /** An attempt that takes longer, and then its endpoint, counts as slow. */
  slowMs: number;
}

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

export const webhookTimes: WebhookTimes = {
  pollMs: 250,
  retriesMs: [
    ...[2 * second, 5 * second, 15 * second, 30 * second, 2 * minute, 10 * minute, 30 * minute],
    ...[hour, 2 * hour],
  ],
  windowMs: 24 * hour,
  leaseMs: 20 * second,
  timeoutMs: 10 * second,
  pauseMsMax: 15 * minute,
  retryAfterMsMax: hour,
  disableAfterMs: 24 * hour,
  failuresToDisable: 10,
  slowMs: second / 2,
};

/** From so many consecutive failures on, an endpoint has pauses and one delivery in progress. */
export const failuresOfProbe = 5;
/** A factor between 0.8 and 1.2 spreads what failed together. */
const jitter = { from: 0.8, width: 0.4 };
const gone = 410;

/** Decides what follows from an attempt. `random` is between 0 and 1. */
export function judgeAttempt(
  times: WebhookTimes,
  state: AttemptState & { attempts: number },
  { result, durationMs, random }: { result: SendResult; durationMs: number; random: number },
): Verdict {
  const slow = durationMs > times.slowMs;
  if (result.error === null) return { status: 'succeeded', retryInMs: 0, pauseMs: null, slow, disabled: null };
  if (state.isOfFormerUrl) return { status: 'pending', retryInMs: 0, pauseMs: null, slow, disabled: null };
  const askedMs = Math.min(result.retryAfterMs ?? 0, times.retryAfterMsMax);
  const spread = (ms: number) => ms * (jitter.from + jitter.width * random);
  const retryInMs = Math.max(spread(waitAfter(times, state.attempts)), askedMs);
  const failures = state.consecutiveFailures + 1;
  const isFailing = state.failingForMs >= times.disableAfterMs && failures >= times.failuresToDisable;
  const disabled = result.status === gone ? 'gone' : isFailing ? 'failing' : null;
  const ends = result.status === gone || retryInMs >= state.expiresInMs;
  const pausedMs =
    failures < failuresOfProbe
      ? 0
      : Math.min(spread(waitAfter(times, failures - failuresOfProbe + 1)), times.pauseMsMax);
  const pauseMs = Math.max(pausedMs, askedMs);
  return { status: ends ? 'failed' : 'pending', retryInMs, pauseMs: pauseMs === 0 ? null : pauseMs, slow, disabled };
}

function waitAfter({ retriesMs }: WebhookTimes, failures: number): number {
  return retriesMs[Math.min(failures, retriesMs.length) - 1] ?? 0;
}
