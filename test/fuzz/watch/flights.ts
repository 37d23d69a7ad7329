import type { FuzzRequest } from '../requests/request.ts';

/** A request and its start and end, as values of `Date.now()`. */
export interface Flight {
  request: FuzzRequest;
  startedAtMs: number;
  endedAtMs: number | undefined;
  status: number | undefined;
}

const keptMax = 2_000;
const ingestedKeptMax = 500;

/** The newest requests of a run. They are used to find the cause of a fault. */
export class Flights {
  #kept: Flight[] = [];
  #ingested: Flight[] = [];

  begin(request: FuzzRequest): Flight {
    const flight = { request, startedAtMs: Date.now(), endedAtMs: undefined, status: undefined };
    this.#kept.push(flight);
    if (this.#kept.length > 2 * keptMax) this.#kept = this.#kept.slice(-keptMax);
    return flight;
  }

  end(flight: Flight, status: number | undefined): void {
    flight.endedAtMs = Date.now();
    flight.status = status;
    const isTaken = isIngest(flight.request) && status !== undefined && status >= 200 && status < 300;
    if (isTaken) this.#ingested = [...this.#ingested.slice(-ingestedKeptMax), flight];
  }

  /** Returns the newest requests with a body that the worker must store. */
  ingested(): readonly Flight[] {
    return this.#ingested;
  }

  /** Returns the requests that were in progress at any time between the two times. */
  within(fromMs: number, toMs: number): Flight[] {
    return this.#kept.filter(
      ({ startedAtMs, endedAtMs }) => startedAtMs <= toMs && (endedAtMs ?? Number.POSITIVE_INFINITY) >= fromMs,
    );
  }
}

function isIngest({ operationId }: FuzzRequest): boolean {
  return operationId === 'exportTraces' || operationId === 'exportLogs' || operationId === 'createExecution';
}
