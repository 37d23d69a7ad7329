import type { Stack } from '../support/stack.ts';
import { type CanaryFigures, startCanary } from './canary.ts';
import { createCases, type FuzzCase } from './cases.ts';
import { misbehave } from './connections.ts';
import { Findings } from './findings.ts';
import { createJudge } from './judge.ts';
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
  /** On a machine so slow that there are fewer it goes on for longer. */
  requestsMin: number;
  /** Requests under way at once. */
  parallel: number;
  sizes: Sizes;
  /** A longer time in which an event loop does one thing is a finding once it is confirmed. */
  stallMsMax: number;
  /** For sending suspects of stalls again. */
  confirmBudgetMs: number;
  /** A line now and then on how far it is. */
  progress: (line: string) => void;
}

export interface FuzzReport {
  findings: Findings;
  world: World;
  requests: number;
  /** By operation, then by class of status, `none` for no answer. */
  answers: ReadonlyMap<string, ReadonlyMap<string, number>>;
  /** By operation, then by the code of an error. */
  codes: ReadonlyMap<string, ReadonlyMap<string, number>>;
  canary: CanaryFigures;
  stallsOfOthers: number;
}

const progressEveryMs = 10_000;
const drainTimeoutMs = 180_000;
/** Somewhat below what Node takes of request line and headers. */
const headBytesMax = 15_000;
const acknowledgedKept = 200;
/** An answer that is missing about then is laid to the process that ended. */
const deathSlackMs = 45_000;

/**
 * Sends hostile requests to a stack of its own for `durationMs` and looks at what becomes of it;
 * `delays` are of that stack.
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
            findings.add('server error', `${request.operationId} answered ${status} to a client that ${manner}`, '', [
              request,
            ]);
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

  function learn(request: FuzzRequest, { status, body, headers }: Answer): void {
    if (
      status < 200 ||
      status >= 300 ||
      !headers['content-type']?.startsWith('application/json') ||
      request.method === 'HEAD'
    )
      return;
    const answer: unknown = JSON.parse(body.toString());
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
      findings.add('no answer', `${request.operationId} had no answer: ${error}`, error, [request]);
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

/** Refused while it is being sent, so that its sender may not see the answer. */
function isOversized({ target, headers }: FuzzRequest): boolean {
  return target.length + JSON.stringify(headers).length > headBytesMax;
}

/** Each with the least that still brings it about; one that is not repeated stays as it is. */
async function reduceServerErrors(findings: Findings, sender: Sender): Promise<void> {
  for (const finding of findings.all().filter(({ kind }) => kind === 'server error')) {
    const stillFails = async (request: FuzzRequest) => {
      const answer = await sender.send(request).catch(() => undefined);
      return answer !== undefined && finding.title.startsWith(`${request.operationId} answered ${answer.status}`);
    };
    const requests = await Promise.all(finding.requests.map((request) => reduced(request, stillFails)));
    finding.requests = requests;
  }
}

/** Executions that were answered with 201 or 202 are there. */
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
        'an execution that was acknowledged is not there',
        `${traceId}; ${await describeRetention(apiUrl, attacker)}`,
        [request],
      );
    else if (response.status !== 200)
      findings.add(
        'server error',
        `getExecution of an acknowledged execution answered ${response.status}`,
        text.slice(0, 300),
        [request],
      );
  }
}

/** An operator may have set it; a fault of its own hides behind one that is too long. */
async function describeRetention(apiUrl: string, { workspaceId, apiKey }: World['attacker']): Promise<string> {
  const response = await fetch(`${apiUrl}/api/workspaces/${workspaceId}/quota`, { headers: { 'X-API-Key': apiKey } });
  const { retention_days } = (await response.json()) as { retention_days?: number };
  return `spans are kept for ${retention_days} days now`;
}
