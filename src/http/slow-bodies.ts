import type { ServerResponse } from 'node:http';
import type { Bag } from '../runtime/bag.ts';

/** How long a body may take. Time in which this process does not read, because its reader is behind, does not count. */
export interface ArrivalLimits {
  /** Without a single byte. */
  idleMsMax: number;
  /** Every body has this long, whatever its rate. */
  graceMs: number;
  /** Beyond the grace it has to have arrived at this rate. */
  bytesPerS: number;
  /** How often is looked. */
  everyMs: number;
}

export const arrivalLimits: ArrivalLimits = {
  idleMsMax: 5_000,
  graceMs: 10_000,
  bytesPerS: 16 * 1024,
  everyMs: 1_000,
};

interface Progress {
  bytesBefore: number;
  bytes: number;
  idleMs: number;
  arrivingMs: number;
}

/**
 * Looks regularly at every request whose body is not there as a whole, whoever reads it and before anybody does, and calls `refuse`
 * for those that came to a halt or crawl. Returns what ends it.
 */
export function watchSlowBodies(
  running: Bag<ServerResponse>,
  limits: ArrivalLimits,
  refuse: (response: ServerResponse, reason: string) => void,
): () => void {
  let known = new Map<ServerResponse, Progress>();
  const look = () => {
    const seen = new Map<ServerResponse, Progress>();
    for (const response of running.items()) {
      if (!isArriving(response)) continue;
      const progress = known.get(response) ?? begin(response);
      note(progress, response, limits.everyMs);
      const fault = faultOf(progress, limits);
      if (fault === undefined) seen.set(response, progress);
      else refuse(response, fault);
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

/** Counts the time by the number of looks, so that a pause of this process is not the client's. */
function note(progress: Progress, { req }: ServerResponse, everyMs: number): void {
  const { bytesRead } = req.socket;
  const weAreBehind = req.readableLength >= req.readableHighWaterMark;
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
    ? `After ${graceMs} ms a body has to arrive with ${bytesPerS} bytes a second or more`
    : undefined;
}
