import { setTimeout as delay } from 'node:timers/promises';
import { spansPerTrace } from '../options.ts';
import { epochMs } from './epoch.ts';
import type { LoadTarget } from './protocol.ts';
import type { LatencyLists } from './send-result.ts';

const deadlineMs = 60_000;

/** Reads traces until the API returns them complete. */
export class ReadableProbe {
  readonly #target: LoadTarget;
  readonly #pollEveryMs: number;
  readonly #watching: Promise<void>[] = [];
  readonly #readableMs: number[] = [];
  #unreadable = 0;
  #polls = 0;

  constructor(target: LoadTarget, pollEveryMs: number) {
    this.#target = target;
    this.#pollEveryMs = pollEveryMs;
  }

  /** `records` of the spans of the trace have the content of a log record. */
  watch(traceId: string, intendedAtMs: number, records = 0): void {
    this.#watching.push(this.#untilReadable(traceId, intendedAtMs, records));
  }

  /** Resolves after every watched trace was read or its deadline passed. */
  async result(): Promise<LatencyLists> {
    await Promise.all(this.#watching);
    return { readableMs: Float64Array.from(this.#readableMs), unreadable: this.#unreadable, polls: this.#polls };
  }

  async #untilReadable(traceId: string, intendedAtMs: number, records: number): Promise<void> {
    for (let pollAtMs = epochMs(); pollAtMs < intendedAtMs + deadlineMs; pollAtMs += this.#pollEveryMs) {
      await delay(Math.max(0, pollAtMs - epochMs()));
      // If responses take longer than the interval, the probe is late and does not send more requests at once.
      pollAtMs = Math.max(pollAtMs, epochMs());
      this.#polls++;
      if (!(await isReadable(this.#target, traceId, records))) continue;
      this.#readableMs.push(epochMs() - intendedAtMs);
      return;
    }
    this.#unreadable++;
  }
}

/** Returns whether GET execution responds with 200, all spans of the trace and the content of its records. */
async function isReadable({ url, apiKey, projectId }: LoadTarget, traceId: string, records: number): Promise<boolean> {
  const response = await fetch(`${url}/api/projects/${projectId}/executions/${traceId}`, {
    headers: { 'x-api-key': apiKey },
  });
  const body: unknown = await response.json();
  if (!response.ok || typeof body !== 'object' || body === null || !('spans' in body)) return false;
  if (!Array.isArray(body.spans) || body.spans.length !== spansPerTrace) return false;
  return body.spans.filter(({ log_count, input }) => log_count > 0 && input !== null).length === records;
}
