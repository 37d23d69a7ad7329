import type { LoopDelay } from './loop-delays.ts';
import type { Figures } from './victim.ts';

/**
 * The factor by which the promised times may be exceeded. `npm run noise` uses 1. The whole suite
 * runs on machines with other load, where a result close to the limit depends more on the machine
 * than on the product.
 */
const slack = Number(process.env.NOISE_SLACK ?? 10);
/** Whether the promised figures are measured. Then there must be enough samples for a 95th percentile. */
export const isExact = slack === 1;
/** Allowed multiple of the value without an attack, and a minimum that a person would not notice. */
const factorMax = 2 * slack;
const requestFloorMs = 50 * slack;
const readableFloorMs = 1_000 * slack;
const loopDelayP99MsMax = 50 * slack;
const loopDelayMsMax = 250 * slack;

/** Returns the effects of an attack on the victim as sentences, or none. */
export function noticed(quiet: Figures, attacked: Figures): string[] {
  const requests = Object.entries(attacked.requestP95Ms).flatMap(([name, p95Ms]) =>
    tooSlow(`${name} (p95)`, p95Ms, Math.max(requestFloorMs, factorMax * (quiet.requestP95Ms[name] ?? 0))),
  );
  const readable = (name: string, ms: number, quietMs: number) =>
    tooSlow(`time to ${name} (p95)`, ms, Math.max(readableFloorMs, factorMax * quietMs));
  return [
    ...requests,
    ...readable('readable', attacked.readableP95Ms, quiet.readableP95Ms),
    ...readable('content of a log record', attacked.contentP95Ms, quiet.contentP95Ms),
    ...attacked.failures.slice(0, 10).map((failure) => `failed: ${failure}`),
  ];
}

/** Returns, as sentences, whether the event loop of a process was blocked for longer than allowed. */
export function heldUp(name: string, { p99Ms, maxMs }: LoopDelay): string[] {
  return [
    ...tooSlow(`event loop of the ${name} (p99)`, p99Ms, loopDelayP99MsMax),
    ...tooSlow(`event loop of the ${name} (longest)`, maxMs, loopDelayMsMax),
  ];
}

function tooSlow(name: string, ms: number, msMax: number): string[] {
  return ms <= msMax ? [] : [`${name}: ${Math.round(ms)} ms, over ${Math.round(msMax)}`];
}

/** Returns one line of figures for the log of the run. */
export function describeFigures({ requestP95Ms, readableP95Ms, contentP95Ms }: Figures): string {
  const requests = Object.entries(requestP95Ms).map(([name, p95Ms]) => `${name} ${Math.round(p95Ms)}`);
  return `${requests.join(', ')}; readable ${Math.round(readableP95Ms)}, content ${Math.round(contentP95Ms)}`;
}
