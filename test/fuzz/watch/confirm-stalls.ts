import { gunzipSync, gzipSync } from 'node:zlib';
import type { Stack } from '../../support/stack.ts';
import type { Findings } from '../findings.ts';
import type { FuzzRequest } from '../requests/request.ts';
import type { Sender } from '../send.ts';
import { isOwnWork, type LoopDelays } from './loop-delay.ts';
import type { ProcessName, Suspicion } from './processes.ts';

const tries = 3;
const hitsMin = 2;
const suspectsMax = 16;
const idleTimeoutMs = 60_000;

interface Options {
  stallMsMax: number;
  /** After this time, no further suspicion is checked. */
  budgetMs: number;
  say: (line: string) => void;
}

/**
 * Sends the suspects of the longest stalls again, one at a time. A request that stalls the process
 * in two of three attempts is a finding.
 */
export async function confirmStalls(
  stack: Stack,
  sender: Sender,
  delays: LoopDelays,
  suspicions: readonly Suspicion[],
  findings: Findings,
  { stallMsMax, budgetMs, say }: Options,
): Promise<void> {
  const deadlineMs = Date.now() + budgetMs;
  const cleared = new Set<FuzzRequest>();
  const guilty = new Map<FuzzRequest, string>();
  for (const { process, stall, suspects } of suspicions.toSorted((a, b) => b.stall.ms - a.stall.ms)) {
    const requests = suspects
      .map(({ request }) => request)
      .sort((a, b) => (b.body?.length ?? 0) - (a.body?.length ?? 0));
    if (requests.some((request) => guilty.has(request))) continue;
    let culprit: FuzzRequest | undefined;
    for (const request of requests.filter((each) => !cleared.has(each)).slice(0, suspectsMax)) {
      if (Date.now() > deadlineMs) break;
      const stallsMs = await stallsAlone(stack, sender, delays, process, request, stallMsMax);
      if (stallsMs.filter((ms) => ms > 0).length >= hitsMin) {
        culprit = request;
        guilty.set(request, process);
        findings.add(
          'stall',
          `the event loop of the ${process} is blocked for more than ${stallMsMax} ms: ${request.operationId}`,
          `${stall.ms} ms in the run, alone ${stallsMs.join(', ')} ms`,
          [request],
        );
        break;
      }
      cleared.add(request);
    }
    if (culprit !== undefined) say(`stall of ${stall.ms} ms in the ${process}: ${culprit.operationId}`);
    else
      findings.note(
        `stalls of the ${process} by its own work of more than ${stallMsMax} ms: no request alone repeats them, or there was no time to try`,
      );
  }
}

/** Returns the longest own stall of each of three attempts in ms, or 0 for none. */
async function stallsAlone(
  stack: Stack,
  sender: Sender,
  delays: LoopDelays,
  process: ProcessName,
  request: FuzzRequest,
  stallMsMax: number,
): Promise<number[]> {
  const found: number[] = [];
  for (let attempt = 1; attempt <= tries; attempt++) {
    const { pid } = stack[process];
    delays.take(pid);
    await sender.send(process === 'worker' ? differing(request, attempt) : request).catch(() => undefined);
    if (process === 'worker') await stack.untilIdle(idleTimeoutMs).catch(() => undefined);
    // After a response, the event loop has written the stalls that it measured before.
    for (let turn = 0; turn < 2; turn++)
      await fetch(`${stack.apiUrl}/api/health?probe=live`)
        .then((each) => each.text())
        .catch(() => undefined);
    const own = delays.take(pid).filter((stall) => isOwnWork(stall, stallMsMax));
    found.push(Math.max(0, ...own.map(({ ms }) => ms)));
    if (attempt === hitsMin && found.every((ms) => ms === 0)) break;
  }
  return found;
}

/**
 * Returns the same request with a small change of its body that has no meaning. Otherwise the
 * service would treat the body as a duplicate.
 */
function differing(request: FuzzRequest, attempt: number): FuzzRequest {
  const { body, headers } = request;
  if (body === undefined || !/^export(Traces|Logs)$/.test(request.operationId)) return request;
  const isGzip = headers['Content-Encoding'] === 'gzip';
  // Adds a field that OTLP does not have, or white space after the JSON.
  const nothing =
    headers['Content-Type'] === 'application/json' ? Buffer.alloc(attempt, ' ') : Buffer.from([0x78, attempt]);
  try {
    const changed = Buffer.concat([isGzip ? gunzipSync(body) : body, nothing]);
    return { ...request, body: isGzip ? gzipSync(changed) : changed };
  } catch {
    return request;
  }
}
