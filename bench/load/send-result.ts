import type { Body } from './bodies.ts';
import { epochMs } from './epoch.ts';
import type { Answer } from './keep-alive.ts';

/** The results of the sent bodies. Times are milliseconds since the epoch, with fractions. */
export interface SendResult {
  firstSentAtMs: number;
  lastAnsweredAtMs: number;
  bodies: number;
  /** Number of responses by status, or by error code if there was no response. */
  statuses: Record<string, number>;
  /** Latencies of the responses with 200. */
  ackMs: Float64Array;
  /** Latencies of all responses. */
  worstMs: number;
  /** Trace ids of the bodies with the response 200, 16 bytes each. */
  ackedTraceIds: Buffer;
}

export interface LatencyLists {
  /** Time from the intended sending until the complete trace was read, for each sampled trace. */
  readableMs: Float64Array;
  /** Sampled traces that were not readable within the deadline. */
  unreadable: number;
  polls: number;
}

/** Collects responses into a {@link SendResult}. */
export class SendLog {
  readonly #firstSentAtMs = epochMs();
  readonly #statuses: Record<string, number> = {};
  readonly #ackMs: number[] = [];
  readonly #acked: Buffer[] = [];
  #lastAnsweredAtMs = 0;
  #worstMs = 0;
  #bodies = 0;

  startBody(): void {
    this.#bodies++;
  }

  record(body: Body, answer: Answer, latencyMs: number): void {
    this.#statuses[answer.status] = (this.#statuses[answer.status] ?? 0) + 1;
    this.#worstMs = Math.max(this.#worstMs, latencyMs);
    this.#lastAnsweredAtMs = epochMs();
    if (answer.status !== '200') return;
    this.#ackMs.push(latencyMs);
    this.#acked.push(body.traceIds);
  }

  result(): SendResult {
    return {
      firstSentAtMs: this.#firstSentAtMs,
      lastAnsweredAtMs: this.#lastAnsweredAtMs,
      bodies: this.#bodies,
      statuses: this.#statuses,
      ackMs: Float64Array.from(this.#ackMs),
      worstMs: this.#worstMs,
      ackedTraceIds: Buffer.concat(this.#acked),
    };
  }
}
