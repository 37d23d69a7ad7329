import { encodeRows, readRows } from '../../src/domains/ingestion/store/encode-body.ts';
import { PriceTable } from '../../src/domains/pricing/index.ts';
import { compileOverrides } from '../../src/domains/pricing/price-overrides.ts';
import type { LightSpan, SpanRow } from '../../src/domains/spans/index.ts';
import { insertSpans, lightSpanOf } from '../../src/domains/spans/index.ts';
import { insertExecutions } from '../../src/domains/summaries/execution-row.ts';
import type { SummarizedExecution } from '../../src/domains/summaries/index.ts';
import { summarizeExecution } from '../../src/domains/summaries/summarize-execution.ts';
import { defaultOtlpLimits } from '../../src/otlp/limits.ts';
import type { ClickHouse } from '../../src/stores/clickhouse/client.ts';
import { createTraceBody } from '../load/body-template.ts';
import { type Random, seededRandom } from '../load/span-content.ts';

export interface SeedSpec {
  projectId: string;
  traces: number;
  /** Number of executions that were stored before; these get other texts. By default 0. */
  first?: number;
  spansPerTrace: number;
  /** Their ends are distributed evenly over this time until now. */
  windowMs: number;
  /** The prompt of the first model calls. Without it, and for later calls, prompts are invented. */
  prompt?: { id: string; calls: number };
}

/** No project has its own prices. */
const prices = {
  table: new PriceTable(),
  overrides: compileOverrides({ prices: [], updatedAt: new Date() }),
  budget: { left: 256 },
};
const spansPerBlock = 10_000;

/**
 * Stores executions as a worker does, but directly in the engine. Their ends are distributed evenly
 * over the window. Each has its own text, so that there are rare values. Cost, tags, prompts and
 * failures are invented. Returns the trace ids.
 */
export async function seedExecutions(clickhouse: ClickHouse, spec: SeedSpec): Promise<string[]> {
  const { projectId, traces, first = 0, spansPerTrace, windowMs } = spec;
  const calls = { left: spec.prompt?.calls ?? 0, traces: 0 };
  const random = seededRandom(11 + first);
  const nowMs = Date.now();
  const traceIds: string[] = [];
  const tracesPerBlock = Math.max(1, Math.floor(spansPerBlock / spansPerTrace));
  for (let start = 0; start < traces; start += tracesPerBlock) {
    const bodies = [];
    for (let index = start; index < Math.min(start + tracesPerBlock, traces); index++) {
      const endMs = nowMs - Math.round((index * windowMs) / traces);
      const { traceId, rows } = await traceRows(projectId, first + index + 1, { spansPerTrace, endMs });
      traceIds.push(traceId);
      bodies.push(rows);
    }
    await insertSpans(
      clickhouse,
      bodies.map((rows) => encodeRows(rows).rows),
    );
    await insertExecutions(
      clickhouse,
      bodies.map((rows) => prompted(embellished(projectId, rows.map(lightSpanOf), random), spec, calls)),
    );
  }
  return traceIds;
}

/** Returns the rows of one trace, as a worker creates them. The seed determines its text. */
export async function traceRows(
  projectId: string,
  seed: number,
  { spansPerTrace, endMs }: { spansPerTrace: number; endMs: number },
): Promise<{ traceId: string; rows: SpanRow[] }> {
  const { traceId, bytes } = createTraceBody(seed, spansPerTrace, endMs);
  const payload = payloadOf(projectId, spansPerTrace, bytes.length, Date.now());
  return { traceId, rows: await readRows({ payload, limits: defaultOtlpLimits, prices }, bytes) };
}

function payloadOf(projectId: string, spans: number, inflatedBytes: number, receivedAtMs: number) {
  return {
    v: 1,
    workspaceId: 'wsp_test',
    projectId,
    retentionDays: 0,
    encoding: 'protobuf',
    coding: 'identity',
    inflatedBytes,
    spans,
    receivedAtMs,
  } as const;
}

/** A tenth of the executions has no cost. A fiftieth of them failed. */
function embellished(projectId: string, spans: readonly LightSpan[], random: Random): SummarizedExecution {
  const number = (below: number) => Math.floor(random() * below);
  const summary = summarizeExecution(projectId, spans);
  return {
    ...summary,
    status: random() < 0.02 ? 'error' : 'ok',
    errorCount: random() < 0.05 ? 1 : 0,
    endUnixNano: summary.startUnixNano + BigInt(1_000_000 * (1 + number(60_000))),
    costNanoUsd: random() < 0.1 ? null : BigInt(number(50_000_000)),
    tags: [`team-${number(20)}`, `release-${number(100)}`],
    prompts: [{ id: `prm_${number(50)}`, name: `prompt-${number(50)}`, version: 1 + number(5), key: '', calls: 1 }],
  };
}

/** Gives some calls of each execution the prompt of the spec, until it has as many calls as the spec says. */
function prompted(
  execution: SummarizedExecution,
  { prompt, traces }: SeedSpec,
  done: { left: number; traces: number },
): SummarizedExecution {
  if (prompt === undefined) return execution;
  const expected = Math.ceil((prompt.calls * ++done.traces) / traces);
  const given = Math.min(execution.calls.length, expected - (prompt.calls - done.left));
  if (given <= 0) return execution;
  done.left -= given;
  const of = { id: prompt.id, name: 'Measured', version: 1 + (done.traces % 5), key: '' };
  return {
    ...execution,
    prompts: [{ ...of, calls: given }],
    calls: execution.calls.map((call, index) => (index < given ? { ...call, prompt: of } : call)),
  };
}
