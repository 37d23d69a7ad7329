import { setTimeout as delay } from 'node:timers/promises';
import { integerBetween, type Random } from './random.ts';
import type { Project } from './stack.ts';
import type { SpanBody } from './workload.ts';

export interface Answer {
  status: number;
  headers: Headers;
  body: Buffer;
  tookMs: number;
}

/** The statuses after which an OTLP exporter sends again (opentelemetry.io/docs/specs/otlp, "Failures"). */
const retryableStatuses = new Set([429, 502, 503, 504]);
const exporterTimeoutMs = 10_000;
const giveUpMs = 60_000;

/** Sends one POST without a retry. Rejects with the error of fetch if there is no response. */
export async function post(apiUrl: string, apiKey: string, body: Pick<SpanBody, 'bytes' | 'headers'>): Promise<Answer> {
  const startedAtMs = performance.now();
  const response = await fetch(`${apiUrl}/api/v1/traces`, {
    method: 'POST',
    headers: { ...body.headers, 'X-API-Key': apiKey },
    body: new Uint8Array(body.bytes),
    signal: AbortSignal.timeout(exporterTimeoutMs),
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  return { status: response.status, headers: response.headers, body: bytes, tookMs: performance.now() - startedAtMs };
}

/**
 * The results of the senders. The spans of a body count as attempted from its first POST, and as
 * acknowledged from its response with 200.
 */
export class SendLog {
  readonly attempted = new Set<string>();
  readonly acknowledged = new Set<string>();
  /** Number of retried failures, by status or connection error. */
  readonly retried = new Map<string, number>();
  /** Responses after which an exporter would discard its spans. */
  readonly dropped: string[] = [];
  readonly ackMs: number[] = [];

  countRetry(failure: string): void {
    this.retried.set(failure, (this.retried.get(failure) ?? 0) + 1);
  }
}

/** Sends the same bytes until they are acknowledged, like an exporter. */
export async function sendUntilAcknowledged(
  target: { apiUrl: string; apiKey: string; random: Random; log: SendLog },
  body: SpanBody,
): Promise<void> {
  const { log, random } = target;
  const deadlineMs = Date.now() + giveUpMs;
  for (const key of body.spanKeys) log.attempted.add(key);
  while (Date.now() < deadlineMs) {
    const outcome = await post(target.apiUrl, target.apiKey, body).catch(connectionFailure);
    if (typeof outcome !== 'string' && outcome.status === 200) {
      for (const key of body.spanKeys) log.acknowledged.add(key);
      log.ackMs.push(outcome.tookMs);
      return;
    }
    if (typeof outcome !== 'string' && !retryableStatuses.has(outcome.status)) {
      log.dropped.push(`${outcome.status} ${outcome.body.toString()}`);
      return;
    }
    log.countRetry(typeof outcome === 'string' ? outcome : String(outcome.status));
    await delay(integerBetween(random, 50, 250));
  }
  log.dropped.push(`not acknowledged within ${giveUpMs} ms`);
}

export interface LoadOptions {
  apiUrl: string;
  project: Project;
  random: Random;
  next: () => SpanBody;
  senders?: number;
  /**
   * Each sender starts a body at this interval. With 150 ms, six senders send 400 spans per second
   * in bodies of ten spans.
   */
  everyMs?: number;
}

/** Runs several exporters at the same time until `finish`. It waits until the last body of each is acknowledged. */
export function startLoad({ apiUrl, project, random, next, senders = 6, everyMs = 150 }: LoadOptions): {
  log: SendLog;
  finish: () => Promise<SendLog>;
} {
  const log = new SendLog();
  const stopping = new AbortController();
  const target = { apiUrl, apiKey: project.apiKey, random, log };
  const run = async () => {
    while (!stopping.signal.aborted) {
      const pace = delay(everyMs, undefined, { signal: stopping.signal }).catch(() => undefined);
      await sendUntilAcknowledged(target, next());
      await pace;
    }
  };
  const running = Promise.all(Array.from({ length: senders }, run));
  return {
    log,
    async finish() {
      stopping.abort();
      await running;
      return log;
    },
  };
}

function connectionFailure(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (cause instanceof Error && 'code' in cause) return String(cause.code);
  return cause instanceof Error ? cause.name : 'unknown';
}
