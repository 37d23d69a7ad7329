import type { ServerResponse } from 'node:http';
import { FewPerTurn } from '../lib/few-per-turn.ts';
import type { Bag } from '../runtime/bag.ts';
import { isPausing } from './small-chunks.ts';

/**
 * How long a body may take to arrive. Time in which this process does not read, because its reader
 * is slow, does not count.
 */
export interface ArrivalLimits {
  /** Longest time without a single byte. */
  idleMsMax: number;
  /** Time that every body has, whatever its rate. */
  graceMs: number;
  /** Minimum rate of arrival after the grace time. */
  bytesPerS: number;
  /** Interval between checks. */
  everyMs: number;
}

export const arrivalLimits: ArrivalLimits = {
  idleMsMax: 5_000,
  graceMs: 10_000,
  bytesPerS: 16 * 1024,
  everyMs: 1_000,
};

/** This many refusals take two milliseconds of the event loop. */
export const refusalsPerTurn = 32;

interface Progress {
  bytesBefore: number;
  bytes: number;
  idleMs: number;
  arrivingMs: number;
}

/**
 * Checks every request whose body has not fully arrived at regular intervals, even if no code reads
 * the body yet. Calls `refuse` for those that stopped or are too slow, for a few in a turn of the event loop.
 * @returns a function that stops the checks
 */
export function watchSlowBodies(
  running: Bag<ServerResponse>,
  limits: ArrivalLimits,
  refuse: (response: ServerResponse, reason: string) => void,
): () => void {
  let known = new Map<ServerResponse, Progress>();
  const refusals = new FewPerTurn(refusalsPerTurn);
  const look = () => {
    const seen = new Map<ServerResponse, Progress>();
    for (const response of running.items()) {
      if (!isArriving(response)) continue;
      const progress = known.get(response) ?? begin(response);
      note(progress, response, limits.everyMs);
      const fault = faultOf(progress, limits);
      if (fault === undefined) seen.set(response, progress);
      else refusals.add(() => isArriving(response) && refuse(response, fault));
    }
    known = seen;
  };
  const timer = setInterval(look, limits.everyMs).unref();
  return () => clearInterval(timer);
}

function isArriving({ req, writableEnded }: ServerResponse): boolean {
  return !req.complete && !req.destroyed && !writableEnded;
}

function begin({ req }: ServerResponse): Progress {
  const { bytesRead } = req.socket;
  return { bytesBefore: bytesRead, bytes: bytesRead, idleMs: 0, arrivingMs: 0 };
}

/**
 * Counts time by the number of checks, so that a pause of this process does not count against the
 * client.
 */
function note(progress: Progress, { req }: ServerResponse, everyMs: number): void {
  const { bytesRead } = req.socket;
  const weAreBehind = req.readableLength >= req.readableHighWaterMark || isPausing(req);
  const idle = bytesRead === progress.bytes && !weAreBehind;
  progress.bytes = bytesRead;
  progress.idleMs = idle ? progress.idleMs + everyMs : 0;
  if (!weAreBehind) progress.arrivingMs += everyMs;
}

function faultOf(
  { bytes, bytesBefore, idleMs, arrivingMs }: Progress,
  { idleMsMax, graceMs, bytesPerS }: ArrivalLimits,
): string | undefined {
  if (idleMs > idleMsMax) return `No byte of the body arrived for ${idleMsMax} ms`;
  const allowedMs = graceMs + ((bytes - bytesBefore) * 1_000) / bytesPerS;
  return arrivingMs > allowedMs
    ? `After ${graceMs} ms, a body must arrive with at least ${bytesPerS} bytes per second`
    : undefined;
}
