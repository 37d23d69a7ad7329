import { readFileSync, writeFileSync } from 'node:fs';
import { round } from './statistics.ts';

/** Linux counts a process's CPU time in ticks of USER_HZ, which is 100 on every architecture that Node runs on. */
const ticksPerS = 100;
const mib = 1024 * 1024;

/** Resources that processes used between two times. Null if /proc has no value (not Linux, or the process ended). */
export interface ResourceUse {
  cpu_s: number | null;
  cpu_us_per_span?: number | null;
  rss_start_mib: number | null;
  rss_peak_mib: number | null;
  rss_end_mib: number | null;
}

interface Watched {
  pid: number;
  cpuS: number | null;
  startBytes: number | null;
  peakBytes: number;
}

/** Watches the named processes from now until {@link stop}. */
export class ResourceWatch {
  readonly #watched: ReadonlyMap<string, Watched>;
  readonly #timer: NodeJS.Timeout;
  readonly #machineStartS = readMachineCpuS();

  constructor(pids: Readonly<Record<string, number>>, everyMs: number) {
    this.#watched = new Map(Object.entries(pids).map(([name, pid]) => [name, begin(pid)]));
    this.#timer = setInterval(() => this.#sample(), everyMs);
  }

  /**
   * Ends the watch. CPU time is divided by `spans` if given. `others_cpu_s` is the CPU time of all
   * other processes of the machine in the same time. If it is not close to zero, the figures are
   * not reliable.
   */
  stop(spans?: number): { byProcess: Record<string, ResourceUse>; others_cpu_s: number | null } {
    this.#sample();
    clearInterval(this.#timer);
    const entries = [...this.#watched].map(([name, watched]) => [name, finish(watched, spans)] as const);
    const machineEndS = readMachineCpuS();
    if (this.#machineStartS === null || machineEndS === null) {
      return { byProcess: Object.fromEntries(entries), others_cpu_s: null };
    }
    const oursS = entries.reduce((sum, [, use]) => sum + (use.cpu_s ?? 0), 0);
    return {
      byProcess: Object.fromEntries(entries),
      others_cpu_s: round(Math.max(0, machineEndS - this.#machineStartS - oursS), 1),
    };
  }

  #sample(): void {
    for (const watched of this.#watched.values()) {
      watched.peakBytes = Math.max(watched.peakBytes, readStatusBytes(watched.pid, 'VmRSS') ?? 0);
    }
  }
}

function begin(pid: number): Watched {
  resetHighWaterMark(pid);
  return { pid, cpuS: readCpuS(pid), startBytes: readStatusBytes(pid, 'VmRSS'), peakBytes: 0 };
}

function finish({ pid, cpuS, startBytes, peakBytes }: Watched, spans: number | undefined): ResourceUse {
  const endCpuS = readCpuS(pid);
  const usedS = cpuS === null || endCpuS === null ? null : endCpuS - cpuS;
  // The peak of the kernel includes values between two samples.
  const peak = Math.max(peakBytes, (highWaterMarkResets && readStatusBytes(pid, 'VmHWM')) || 0);
  return {
    cpu_s: usedS === null ? null : round(usedS, 2),
    ...(spans !== undefined && { cpu_us_per_span: usedS === null ? null : round((usedS * 1e6) / spans, 1) }),
    rss_start_mib: toMib(startBytes),
    rss_peak_mib: toMib(peak || null),
    rss_end_mib: toMib(readStatusBytes(pid, 'VmRSS')),
  };
}

let highWaterMarkResets = true;

/**
 * proc(5): writing 5 to clear_refs sets VmHWM to the current size. Without this function of the
 * kernel, only the samples count.
 */
function resetHighWaterMark(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5');
  } catch {
    highWaterMarkResets = false;
  }
}

/** User and system time of all threads, proc(5) stat fields 14 and 15. The name before them may contain spaces. */
function readCpuS(pid: number): number | null {
  const stat = read(`${pid}/stat`);
  if (stat === null) return null;
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / ticksPerS;
}

/** CPU time of the machine without idle and waiting time, proc(5) /proc/stat fields 1 to 8. */
function readMachineCpuS(): number | null {
  const line = read('stat')?.split('\n')[0];
  if (line === undefined) return null;
  const [user = 0, nice = 0, system = 0, , , irq = 0, softIrq = 0, steal = 0] = line
    .trim()
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return (user + nice + system + irq + softIrq + steal) / ticksPerS;
}

function readStatusBytes(pid: number, field: 'VmRSS' | 'VmHWM'): number | null {
  const kib = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(read(`${pid}/status`) ?? '')?.[1];
  return kib === undefined ? null : Number(kib) * 1024;
}

function read(file: string): string | null {
  try {
    return readFileSync(`/proc/${file}`, 'utf8');
  } catch {
    return null;
  }
}

function toMib(bytes: number | null): number | null {
  return bytes === null ? null : round(bytes / mib, 1);
}
