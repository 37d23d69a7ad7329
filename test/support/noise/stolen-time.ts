import { readFileSync } from 'node:fs';

/**
 * Ticks of all processors since the start of the machine: those that the hypervisor gave to other
 * machines, and all.
 */
export interface Ticks {
  stolen: number;
  all: number;
}

/** Reads `/proc/stat` (proc(5)). Returns zeros if the file does not exist. */
export function readTicks(): Ticks {
  try {
    const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n', 1);
    // user, nice, system, idle, iowait, irq, softirq, steal; guest time, which follows, is in user.
    const ticks = line.trim().split(/\s+/).slice(1, 9).map(Number);
    return { stolen: ticks[7] ?? 0, all: ticks.reduce((sum, each) => sum + each, 0) };
  } catch {
    return { stolen: 0, all: 0 };
  }
}

/** Returns the share of processor time since `before` that other machines on the same host had, in percent. */
export function stolenPercent(before: Ticks): number {
  const now = readTicks();
  return (100 * (now.stolen - before.stolen)) / Math.max(1, now.all - before.all);
}
