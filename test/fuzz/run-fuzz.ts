import type { Stack } from '../support/stack.ts';
import { type CanaryFigures, startCanary } from './canary.ts';
import { createCases, type FuzzCase } from './cases.ts';
import { misbehave } from './connections.ts';
import { Findings } from './findings.ts';
import { createJudge, parseAnswer } from './judge.ts';
import { fetchDocument, operationsOf } from './openapi.ts';
import { reduced } from './reduce.ts';
import type { FuzzRequest } from './requests/request.ts';
import { type Answer, Sender } from './send.ts';
import type { Sizes } from './values/hostile.ts';
import { checkQuarantine } from './watch/check-quarantine.ts';
import { confirmStalls } from './watch/confirm-stalls.ts';
import { Flights } from './watch/flights.ts';
import type { LoopDelays } from './watch/loop-delay.ts';
import { watchProcesses } from './watch/processes.ts';
import { createWorld, type World } from './world.ts';

export interface FuzzOptions {
  seed: number;
  durationMs: number;
  /** The minimum number of requests. On a slow machine, the run continues until it is reached. */
  requestsMin: number;
  /** Number of requests at the same time. */
  parallel: number;
  sizes: Sizes;
  /** A longer stall of an event loop is a finding after it is confirmed. */
  stallMsMax: number;
  /** Time for sending suspects of stalls again. */
  confirmBudgetMs: number;
  /** Receives a line about the progress from time to time. */
  progress: (line: string) => void;
}

export interface FuzzReport {
  findings: Findings;
  world: World;
  requests: number;
  /** Numbers by operation and class of status. `none` means that there was no response. */
  answers: ReadonlyMap<string, ReadonlyMap<string, number>>;
  /** Numbers by operation and code of an error. */
  codes: ReadonlyMap<string, ReadonlyMap<string, number>>;
  canary: CanaryFigures;
  stallsOfOthers: number;
}

const progressEveryMs = 10_000;
const drainTimeoutMs = 180_000;
/** Less than the maximum of Node for the request line and headers. */
const headBytesMax = 15_000;
const acknowledgedKept = 200;
/** A response that is missing within this time is attributed to the process that ended. */
const deathSlackMs = 45_000;

/**
 * Sends hostile requests to a separate stack for `durationMs` and checks the effects. `delays`
 * belong to this stack.
 */
export async function runFuzz(stack: Stack, delays: LoopDelays, options: FuzzOptions): Promise<FuzzReport> {
  const world = await createWorld(stack);
  const document = await fetchDocument(stack.apiUrl);
  const operations = operationsOf(document);
  const findings = new Findings();
  const flights = new Flights();
  const sender = new Sender(stack.apiUrl);
  const { judge } = createJudge(document, operations, findings);
  const { caseOf } = createCases(operations, world, options);
  const watch = watchProcesses(stack, delays, { flights, findings, stallMsMax: options.stallMsMax });
  const canary = startCanary(world, findings);
  const answers = new Map<string, Map<string, number>>();
  const codes = new Map<string, Map<string, number>>();
  const acknowledged = new Map<string, FuzzRequest>();
  const unanswered: { atMs: number; request: FuzzRequest; error: string }[] = [];
  const startedAtMs = Date.now();
  const endsAtMs = startedAtMs + options.durationMs;
  let next = 0;

  function count({ operationId }: FuzzRequest, outcome: string): void {
    const of = answers.get(operationId) ?? new Map<string, number>();
    of.set(outcome, (of.get(outcome) ?? 0) + 1);
    answers.set(operationId, of);
  }

  function countCode({ operationId }: FuzzRequest, code: string): void {
    if (code === '') return;
    const of = codes.get(operationId) ?? new Map<string, number>();
    of.set(code, (of.get(code) ?? 0) + 1);
    codes.set(operationId, of);
  }

  async function sendOne({ request, manner }: FuzzCase): Promise<void> {
    const flight = flights.begin(request);
    let status: number | undefined;
    try {
      if (manner !== undefined) {
        for (const status of await misbehave(stack.apiUrl, request, manner))
          if (status >= 500)
            findings.add(
              'server error',
              `${request.operationId} responded with ${status} to a client that ${manner}`,
              '',
              [request],
            );
        count(request, 'left');
        return;
      }
      const answer = await sender.send(request);
      status = answer.status;
      count(request, `${String(answer.status)[0]}xx`);
      countCode(request, judge(request, answer));
      learn(request, answer);
    } catch (error) {
      count(request, 'none');
      unanswered.push({ atMs: Date.now(), request, error: error instanceof Error ? error.message : String(error) });
    } finally {
      flights.end(flight, status);
    }
  }

  function learn(request: FuzzRequest, response: Answer): void {
    const answer = parseAnswer(response);
    if (response.status < 200 || response.status >= 300 || answer === undefined) return;
    world.ids.harvest(request.operationId, answer);
    if (request.operationId !== 'createExecution' || !request.routed || request.foreign) return;
    acknowledged.set(String((answer as { trace_id?: unknown }).trace_id), request);
    if (acknowledged.size > acknowledgedKept) acknowledged.delete([...acknowledged.keys()][0] ?? '');
  }

  const progress = setInterval(() => {
    const seconds = Math.round((Date.now() - startedAtMs) / 1_000);
    options.progress(
      `${seconds} s: ${next} requests, ${findings.all().length} findings, ${watch.suspicions.length} stalls, canary sent ${canary.figures.sent}`,
    );
  }, progressEveryMs);
  const attack = async () => {
    while (Date.now() < endsAtMs || next < options.requestsMin) await sendOne(caseOf(next++));
  };
  await Promise.all(Array.from({ length: options.parallel }, attack));
  await stack
    .untilIdle(drainTimeoutMs)
    .catch((error: Error) => findings.add('lost', 'the queues did not drain after the run', error.message));
  await canary.finish();
  await checkQuarantine(world, flights, findings);
  await checkAcknowledged(world, acknowledged, findings);
  await watch.stop();
  for (const { atMs, request, error } of unanswered) {
    const hasDied = watch.deathTimesMs.some((deathMs) => Math.abs(deathMs - atMs) < deathSlackMs);
    if (!hasDied && !isOversized(request))
      findings.add('no answer', `${request.operationId} had no response: ${error}`, error, [request]);
  }
  await confirmStalls(stack, sender, delays, watch.suspicions, findings, {
    stallMsMax: options.stallMsMax,
    budgetMs: options.confirmBudgetMs,
    say: options.progress,
  });
  await reduceServerErrors(findings, sender);
  clearInterval(progress);
  sender.close();
  return {
    findings,
    world,
    requests: next,
    answers,
    codes,
    canary: canary.figures,
    stallsOfOthers: watch.stallsOfOthers(),
  };
}

/** Such a request is refused while it is being sent, so the client may not receive the response. */
function isOversized({ target, headers }: FuzzRequest): boolean {
  return target.length + JSON.stringify(headers).length > headBytesMax;
}

/** Reduces each request to the parts that cause the error. A request that does not fail again stays unchanged. */
async function reduceServerErrors(findings: Findings, sender: Sender): Promise<void> {
  for (const finding of findings.all().filter(({ kind }) => kind === 'server error')) {
    const stillFails = async (request: FuzzRequest) => {
      const answer = await sender.send(request).catch(() => undefined);
      return answer !== undefined && finding.title.startsWith(`${request.operationId} responded with ${answer.status}`);
    };
    const requests = await Promise.all(finding.requests.map((request) => reduced(request, stillFails)));
    finding.requests = requests;
  }
}

/** Checks that executions with the response 201 or 202 are stored. */
async function checkAcknowledged(
  { apiUrl, attacker }: World,
  acknowledged: ReadonlyMap<string, FuzzRequest>,
  findings: Findings,
): Promise<void> {
  for (const [traceId, request] of acknowledged) {
    const response = await fetch(`${apiUrl}/api/projects/${attacker.projectId}/executions/${traceId}`, {
      headers: { 'X-API-Key': attacker.apiKey },
    });
    const text = await response.text();
    if (response.status === 404)
      findings.add(
        'lost',
        'an acknowledged execution is missing',
        `${traceId}; ${await describeRetention(apiUrl, attacker)}`,
        [request],
      );
    else if (response.status !== 200)
      findings.add(
        'server error',
        `getExecution of an acknowledged execution responded with ${response.status}`,
        text.slice(0, 300),
        [request],
      );
  }
}

/** A request of the fuzzer as operator may have changed the retention. This can explain a missing execution. */
async function describeRetention(apiUrl: string, { workspaceId, apiKey }: World['attacker']): Promise<string> {
  const response = await fetch(`${apiUrl}/api/workspaces/${workspaceId}/quota`, { headers: { 'X-API-Key': apiKey } });
  const { retention_days } = (await response.json()) as { retention_days?: number };
  return `spans are kept for ${retention_days} days now`;
}
