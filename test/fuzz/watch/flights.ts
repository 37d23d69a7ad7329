import type { FuzzRequest } from '../requests/request.ts';

/** A request and when it was under way; times as of `Date.now()`. */
export interface Flight {
  request: FuzzRequest;
  startedAtMs: number;
  endedAtMs: number | undefined;
  status: number | undefined;
}

const keptMax = 2_000;

/** The newest requests of a run, so that what goes wrong can be laid to some of them. */
export class Flights {
  #kept: Flight[] = [];

  begin(request: FuzzRequest): Flight {
    const flight = { request, startedAtMs: Date.now(), endedAtMs: undefined, status: undefined };
    this.#kept.push(flight);
    if (this.#kept.length > 2 * keptMax) this.#kept = this.#kept.slice(-keptMax);
    return flight;
  }

  /** Those that were under way at any moment from one time to the other. */
  within(fromMs: number, toMs: number): Flight[] {
    return this.#kept.filter(
      ({ startedAtMs, endedAtMs }) => startedAtMs <= toMs && (endedAtMs ?? Number.POSITIVE_INFINITY) >= fromMs,
    );
  }

  /** Those that left the worker something to do, answered from one time to the other. */
  ingestedWithin(fromMs: number, toMs: number): Flight[] {
    return this.within(fromMs, toMs).filter(
      ({ request, status = 0 }) => isIngest(request) && status >= 200 && status < 300,
    );
  }
}

export function isIngest({ operationId }: FuzzRequest): boolean {
  return operationId === 'exportTraces' || operationId === 'createExecution';
}
