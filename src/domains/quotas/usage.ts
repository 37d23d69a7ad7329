import { usageKey } from '../../stores/redis/names.ts';
import type { QuotaName } from '../workspaces/index.ts';

/** A calendar month in UTC. Monthly quotas count by it. */
export interface Month {
  /** `2026-11` */
  name: string;
  startMs: number;
  /** The first moment of the next month. */
  endMs: number;
}

/** A cache: every body asks for the month, and it is nearly always the same one. */
let lastMonth: Month = { name: '', startMs: 0, endMs: 0 };

/** Returns the UTC calendar month of a time in milliseconds since the epoch. */
export function monthOf(atMs: number): Month {
  if (atMs < lastMonth.startMs || atMs >= lastMonth.endMs) lastMonth = reckonMonth(atMs);
  return lastMonth;
}

function reckonMonth(atMs: number): Month {
  const at = new Date(atMs);
  const [year, month] = [at.getUTCFullYear(), at.getUTCMonth()];
  return {
    name: at.toISOString().slice(0, 7),
    startMs: Date.UTC(year, month),
    endMs: Date.UTC(year, month + 1),
  };
}

const slotMs = 60_000;
/** A counter is kept this long after its month, because it may still be read. */
const keptMs = 7 * 86_400_000;

/** The unit of each monthly quota. */
export const quotaUnits = {
  spans: 'span',
  optimization_runs: 'run',
  ingested_bytes: 'byte',
  written_bytes: 'byte',
} as const satisfies Record<QuotaName, string>;

/**
 * Where the use of a workspace in a month is counted: a hash of `total` and, of spans, of the units per minute
 * (`slot`) since it was last settled with the stored data, see `settle-monthly-usage.ts`. Other quotas are not settled:
 * their slot is ''.
 */
export interface UsageEntry {
  key: string;
  slot: string;
  expiresAtS: number;
}

/** Returns the entry for the month and minute of receipt, whenever it is counted. */
export function usageEntry(workspaceId: string, quota: QuotaName, receivedAtMs: number): UsageEntry {
  const month = monthOf(receivedAtMs);
  return {
    key: usageKey(workspaceId, quota, month),
    slot: quota === 'spans' ? String(slotNumber(receivedAtMs)) : '',
    expiresAtS: counterExpiryS(month),
  };
}

/** Returns the slot of a time: minutes since the epoch. */
export function slotNumber(atMs: number): number {
  return Math.floor(atMs / slotMs);
}

/** Returns when a slot begins, in milliseconds since the epoch. */
export function slotStartMs(slot: number): number {
  return slot * slotMs;
}

/** Returns the end of the month of a counter from its expiry, in milliseconds since the epoch. */
export function monthEndMs({ expiresAtS }: Pick<UsageEntry, 'expiresAtS'>): number {
  return expiresAtS * 1_000 - keptMs;
}

/** Returns when the counters of a month expire, in seconds since the epoch. */
export function counterExpiryS(month: Month): number {
  return (month.endMs + keptMs) / 1_000;
}
