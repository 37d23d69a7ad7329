import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { round } from './statistics.ts';

/** The parts of a .cpuprofile (Chrome DevTools protocol, Profiler.Profile) that contain the samples. */
interface CpuProfile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[];
  samples: number[];
  /** Microseconds before each sample. */
  timeDeltas: number[];
}

const rowsMax = 25;
/**
 * Samples have a distance of 1 ms. At a much larger distance, the process did not run, because
 * other processes used the core.
 */
const deltaUsMax = 5_000;
const root = fileURLToPath(new URL('..', import.meta.url));

/** Returns where each profiled process spent its own time, largest first. The shares exclude idle time. */
export function summarizeProfiles(directory: string): Record<string, object> {
  const files = readdirSync(directory).filter((file) => file.endsWith('.cpuprofile'));
  return Object.fromEntries(files.map((file) => [file.replace('.cpuprofile', ''), summarize(join(directory, file))]));
}

function summarize(file: string): object {
  const profile: CpuProfile = JSON.parse(readFileSync(file, 'utf8'));
  const names = new Map(profile.nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]));
  const selfUs = new Map<string, number>();
  profile.samples.forEach((id, index) => {
    const name = names.get(id) ?? 'unknown';
    const deltaUs = Math.min(profile.timeDeltas[index] ?? 0, deltaUsMax);
    selfUs.set(name, (selfUs.get(name) ?? 0) + deltaUs);
  });
  const idleUs = selfUs.get('(idle)') ?? 0;
  selfUs.delete('(idle)');
  const busyUs = [...selfUs.values()].reduce((sum, us) => sum + us, 0);
  const top = [...selfUs].sort(([, a], [, b]) => b - a).slice(0, rowsMax);
  return {
    busy_s: round(busyUs / 1e6, 2),
    idle_s: round(idleUs / 1e6, 2),
    top_self: top.map(([name, us]) => `${round((100 * us) / busyUs, 1)} % ${round(us / 1e3)} ms ${name}`),
  };
}

function nameOf({ functionName, url, lineNumber }: CpuProfile['nodes'][number]['callFrame']): string {
  const place = url
    .replace('file://', '')
    .replace(root, '')
    .replace(/^.*node_modules\//, '');
  return `${functionName || '(anonymous)'}${place && ` ${place}:${lineNumber + 1}`}`;
}
