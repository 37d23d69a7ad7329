import { setTimeout as delay } from 'node:timers/promises';
import { logBody, messageRecord } from '../../test/support/logs.ts';
import { spansPerTrace } from '../options.ts';
import type { Body } from './bodies.ts';
import { epochMs } from './epoch.ts';
import type { createPoster } from './post.ts';

/** Spans of a trace without content of their own: HTTP calls (see `span-content.ts`). */
const placesWithoutContent = [3, 6, 9];

/**
 * Sends log records for the spans of bodies. One body of two gets them half an interval after its
 * spans, and the other one half an interval before.
 */
export class RecordSender {
  readonly #poster: ReturnType<typeof createPoster>;
  readonly #bodies: readonly Body[];
  readonly #recordsPerBody: number;
  readonly #halfMs: number;
  readonly #sending: Promise<void>[] = [];

  constructor(
    poster: ReturnType<typeof createPoster>,
    bodies: readonly Body[],
    { recordsPerBody, bodiesPerS }: { recordsPerBody: number; bodiesPerS: number },
  ) {
    this.#poster = poster;
    this.#bodies = bodies;
    this.#recordsPerBody = recordsPerBody;
    this.#halfMs = 500 / bodiesPerS;
  }

  /** Must be called for every body when its spans are sent. Returns when its spans and records are sent. */
  follow(index: number, spansAtMs: number): number {
    if (this.#recordsPerBody === 0 || index % 2 === 1) return spansAtMs;
    const atMs = spansAtMs + this.#halfMs;
    for (const body of this.#bodies.slice(index, index + 2)) this.#sending.push(this.#send(body, atMs));
    return atMs;
  }

  /** Returns how many records the n-th trace of a body gets. */
  ofTrace({ traceIds }: Body, index: number): number {
    const traces = traceIds.length / 16;
    return Math.floor(this.#recordsPerBody / traces) + (index < this.#recordsPerBody % traces ? 1 : 0);
  }

  /**
   * Waits for all responses.
   * @throws Error when a request was not accepted
   */
  async close(): Promise<void> {
    await Promise.all(this.#sending);
    this.#poster.close();
  }

  async #send(body: Body, atMs: number): Promise<void> {
    const bytes = this.#encode(body);
    await delay(Math.max(0, atMs - epochMs()));
    const { status } = await this.#poster.post(bytes);
    if (status !== '200') throw new Error(`Log records were answered ${status}`);
  }

  /** The traces of the body get records in turn, one per span. */
  #encode({ traceIds, spanIds }: Body): Buffer {
    const traces = traceIds.length / 16;
    const records = Array.from({ length: this.#recordsPerBody }, (_, index) => {
      const trace = index % traces;
      const place = placesWithoutContent[Math.floor(index / traces)];
      if (place === undefined) throw new Error(`A body has no spans for ${this.#recordsPerBody} records`);
      const span = (trace * spansPerTrace + place) * 8;
      return messageRecord('user', `What is the answer to question ${index}? `.repeat(10), {
        traceId: traceIds.toString('hex', trace * 16, trace * 16 + 16),
        spanId: spanIds.toString('hex', span, span + 8),
        timeUnixNano: `${Date.now()}000000`,
      });
    });
    return Buffer.from(logBody(records));
  }
}
