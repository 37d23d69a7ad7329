import { randomBytes } from 'node:crypto';
import type { ClickHouse } from '../../src/stores/clickhouse/client.ts';
import type { SendResult } from '../load/send-result.ts';
import type { LoadGenerator } from '../load-generator.ts';
import type { Options } from '../options.ts';
import { type ResourceUse, ResourceWatch } from '../resources.ts';
import { round, summarizeLatencies } from '../statistics.ts';
import { checkStored, type TraceRange, untilStored } from '../stored.ts';
import type { Target } from '../target.ts';

/** The data that every scenario uses. */
export interface Bench {
  options: Options;
  target: Target;
  load: LoadGenerator;
  clickhouse: ClickHouse;
  /** Spans per second, end to end. Set after `throughput` has measured it. */
  measuredSpansPerS?: number;
  say: (line: string) => void;
}

const sampleEveryMs = 100;

/** Creates the bodies of a scenario before it starts. */
export async function prepareBodies(bench: Bench, count: number): Promise<{ range: TraceRange; bodies: object }> {
  const traceIdPrefix = randomBytes(4).toString('hex');
  const { spansPerBody } = bench.options;
  bench.say(`  creating ${count} bodies`);
  const { gzipBytes, plainBytes } = await bench.load.run('prepare', { count, spansPerBody, traceIdPrefix });
  const bodies = {
    spans_per_body: spansPerBody,
    bytes_per_span: Math.round(plainBytes / count / spansPerBody),
    gzip_bytes_per_body: Math.round(gzipBytes / count),
  };
  return { range: { projectId: bench.target.projectId, traceIdPrefix }, bodies };
}

/**
 * Sends bodies, waits until all acknowledged bodies are stored, compares them with the sent bodies,
 * and reports the cost.
 */
export async function measure<Result extends SendResult>(
  bench: Bench,
  range: TraceRange,
  send: () => Promise<Result>,
): Promise<{
  sent: Result;
  spans: number;
  readableAtMs: number;
  resources: Record<string, ResourceUse>;
  figures: object;
}> {
  const watch = watchResources(bench, sampleEveryMs);
  const sent = await send();
  const spans = sent.ackMs.length * bench.options.spansPerBody;
  bench.say(`  sent; waiting for ${spans} acknowledged spans`);
  const { readableAtMs, listedAtMs } = await untilStored(bench.clickhouse, range, spans);
  const { byProcess, others_cpu_s } = watch.stop(spans);
  const check = await checkStored(bench.clickhouse, range, sent.ackedTraceIds);
  const figures = {
    bodies: sent.bodies,
    acknowledged_spans: spans,
    answers: sent.statuses,
    ack: summarizeLatencies(sent.ackMs),
    send_s: round((sent.lastAnsweredAtMs - sent.firstSentAtMs) / 1_000, 2),
    readable_after_last_answer_s: round(Math.max(0, readableAtMs - sent.lastAnsweredAtMs) / 1_000, 2),
    executions_listed_after_last_answer_s: round(Math.max(0, listedAtMs - sent.lastAnsweredAtMs) / 1_000, 2),
    check,
    others_cpu_s,
    resources: byProcess,
  };
  return { sent, spans, readableAtMs, resources: byProcess, figures };
}

/** Watches the processes of the service, the load generator and this process. */
export function watchResources({ target, load }: Bench, everyMs: number): ResourceWatch {
  return new ResourceWatch({ ...target.pids, load_generator: load.pid, bench: process.pid }, everyMs);
}

export function bodiesFor(bench: Bench, spansPerS: number, seconds: number): number {
  return Math.ceil((spansPerS * seconds) / bench.options.spansPerBody);
}

/**
 * Requests a path below the project and reads the response.
 * @throws Error with the response when it is not 200
 */
export async function readPath({ target }: Bench, path: string): Promise<void> {
  const response = await fetch(`${target.url}/api/projects/${target.projectId}/${path}`, {
    headers: { 'x-api-key': target.apiKey },
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path} responded with ${response.status}: ${text.slice(0, 300)}`);
}

/** Creates the prompt that is measured. Returns its id. */
export async function createPrompt({ target }: Bench): Promise<string> {
  const response = await fetch(`${target.url}/api/projects/${target.projectId}/prompts`, {
    method: 'POST',
    headers: { 'x-api-key': target.apiKey, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Measured', type: 'text', template: 'Answer {{question}}' }),
  });
  if (!response.ok) throw new Error(`POST prompts responded with ${response.status}`);
  const { id } = (await response.json()) as { id: string };
  return id;
}
