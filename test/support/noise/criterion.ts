import type { LoopDelay } from './loop-delays.ts';
import type { Figures } from './victim.ts';

/**
 * How much slower than promised is let pass. `npm run noise` allows nothing; the whole suite runs on machines that others share, and
 * there a bound that is met within 5 % tells more of the machine than of us.
 */
const slack = Number(process.env.NOISE_SLACK ?? 10);
/** Whether figures are measured that hold the promise itself: then it takes enough samples for a 95th percentile. */
export const isExact = slack === 1;
/** Of a quiet figure, and never less than the floor: what a person would not notice. */
const factorMax = 2 * slack;
const requestFloorMs = 50 * slack;
const readableFloorMs = 1_000 * slack;
const loopDelayP99MsMax = 50 * slack;
const loopDelayMsMax = 250 * slack;

/** What the victim noticed of an attack, in sentences; nothing when it noticed nothing. */
export function noticed(quiet: Figures, attacked: Figures): string[] {
  const requests = Object.entries(attacked.requestP95Ms).flatMap(([name, p95Ms]) =>
    tooSlow(`${name} (p95)`, p95Ms, Math.max(requestFloorMs, factorMax * (quiet.requestP95Ms[name] ?? 0))),
  );
  const readableMsMax = Math.max(readableFloorMs, factorMax * quiet.readableP95Ms);
  return [
    ...requests,
    ...tooSlow('time to readable (p95)', attacked.readableP95Ms, readableMsMax),
    ...attacked.failures.slice(0, 10).map((failure) => `failed: ${failure}`),
  ];
}

/** Whether the event loop of a process was held up for longer than a hostile request may, in sentences. */
export function heldUp(name: string, { p99Ms, maxMs }: LoopDelay): string[] {
  return [
    ...tooSlow(`event loop of the ${name} (p99)`, p99Ms, loopDelayP99MsMax),
    ...tooSlow(`event loop of the ${name} (longest)`, maxMs, loopDelayMsMax),
  ];
}

function tooSlow(name: string, ms: number, msMax: number): string[] {
  return ms <= msMax ? [] : [`${name}: ${Math.round(ms)} ms, over ${Math.round(msMax)}`];
}

/** One line of figures for the log of the run. */
export function describeFigures({ requestP95Ms, readableP95Ms }: Figures): string {
  const requests = Object.entries(requestP95Ms).map(([name, p95Ms]) => `${name} ${Math.round(p95Ms)}`);
  return `${requests.join(', ')}; readable ${Math.round(readableP95Ms)}`;
}
