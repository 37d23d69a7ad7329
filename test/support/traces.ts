import { expect } from 'vitest';
import type { z } from 'zod';
import type { costBreakdownSchema } from '../../src/domains/executions/cost-breakdown.ts';
import type { executionSchema } from '../../src/domains/executions/executions.schema.ts';
import type { FeedbackWire } from '../../src/domains/executions/feedback.schema.ts';
import type { FlatNode, HierarchyWire, NestedNode } from '../../src/domains/executions/hierarchy.schema.ts';
import type { SpanWire } from '../../src/domains/executions/span.schema.ts';
import type { TimelineWire } from '../../src/domains/executions/timeline.schema.ts';
import type { Answer, ProjectOfTest, Query, TestApi } from './api.ts';
import { encodeSpans, type SpanInput } from './otlp-encode.ts';
import { BadRequest, ExportTraceServiceResponse, RpcStatus } from './otlp-proto.ts';
import { aModelCall, nowNano } from './spans.ts';
import { until } from './until.ts';

export type Encoding = 'protobuf' | 'json';
export type ExecutionWire = z.infer<typeof executionSchema>;
export type ExecutionDetailWire = ExecutionWire & {
  project_id: string;
  cost_breakdown: z.infer<typeof costBreakdownSchema>;
  missing_parents: string[];
  truncated: boolean;
  feedback: FeedbackWire[];
  spans: SpanWire[];
};
export interface ExecutionPage {
  data: ExecutionWire[];
  page: { next_cursor: string | null; has_more: boolean; limit: number; total?: number };
  window: { from: string; to: string };
}

export const contentTypes = { protobuf: 'application/x-protobuf', json: 'application/json' } as const;

export interface ExportAnswer {
  status: number;
  headers: Headers;
  bytes: Buffer;
}

/** Posts a body like an exporter. */
export async function postTraces(
  api: { url: string },
  key: string,
  body: Uint8Array<ArrayBuffer> | string,
  headers: Readonly<Record<string, string>> = { 'Content-Type': contentTypes.protobuf },
): Promise<ExportAnswer> {
  const response = await fetch(`${api.url}/api/v1/traces`, {
    method: 'POST',
    headers: { 'X-API-Key': key, ...headers },
    body,
  });
  return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) };
}

/** Sends spans in one request. All of them must be accepted. */
export async function sendSpans(
  api: { url: string },
  key: string,
  spans: readonly SpanInput[],
  encoding: Encoding = 'protobuf',
): Promise<void> {
  const body = Buffer.from(encodeSpans(encoding, spans));
  const answer = await postTraces(api, key, body, { 'Content-Type': contentTypes[encoding] });
  expect([answer.status, decodeResponse(encoding, answer.bytes)]).toEqual([200, {}]);
}

const storedTimeoutMs = 30_000;

/** Waits until `isDone` accepts an execution, and returns it. */
export async function untilExecution(
  api: TestApi,
  project: ProjectOfTest,
  traceId: string,
  isDone: (execution: ExecutionDetailWire) => boolean,
): Promise<ExecutionDetailWire> {
  let last: unknown;
  try {
    return await until(`execution ${traceId}`, storedTimeoutMs, async () => {
      const answer = await getExecution(api, project, traceId);
      last = answer.body;
      return answer.status === 200 && isDone(answer.body) && answer.body;
    });
  } catch (error) {
    throw new Error(`${String(error)}; last: ${JSON.stringify(last)?.slice(0, 2_000)}`);
  }
}

/** Waits until this many spans of a trace are readable. */
export function untilStored(api: TestApi, project: ProjectOfTest, traceId: string, spans = 1) {
  return untilExecution(api, project, traceId, (execution) => execution.span_count === spans);
}

/** A window for traces of any age: without one a list holds the last seven days, and recorded traces are older. */
export const anyTime = { from: '2000-01-01T00:00:00Z', to: '2100-01-01T00:00:00Z' };

/**
 * Waits until the summary of a trace is listed and `isDone` accepts it. Summaries are stored
 * shortly after the spans.
 */
export function untilListed(
  api: TestApi,
  project: ProjectOfTest,
  traceId: string,
  isDone: (execution: ExecutionWire) => boolean = () => true,
): Promise<ExecutionWire> {
  return until(`summary of ${traceId}`, storedTimeoutMs, async () => {
    const { body } = await listExecutions(api, project, { ...anyTime, limit: 100 });
    return body.data.find((each) => each.trace_id === traceId && isDone(each));
  });
}

export function getExecution(
  api: TestApi,
  project: ProjectOfTest,
  traceId: string,
  query: Readonly<Record<string, string>> = {},
): Promise<Answer<ExecutionDetailWire>> {
  const params = { project_id: project.id, trace_id: traceId };
  return api.call<ExecutionDetailWire>('getExecution', { params, query, key: project.key });
}

export type HierarchyBody = Omit<HierarchyWire, 'format'> & { roots?: NestedNode[]; nodes?: FlatNode[] };

export function getHierarchy(
  api: TestApi,
  project: ProjectOfTest,
  traceId: string,
  query: Readonly<Record<string, string>> = {},
): Promise<Answer<HierarchyBody>> {
  const params = { project_id: project.id, trace_id: traceId };
  return api.call<HierarchyBody>('getHierarchy', { params, query, key: project.key });
}

export function getTimeline(
  api: TestApi,
  project: ProjectOfTest,
  traceId: string,
  query: Readonly<Record<string, string | number>> = {},
): Promise<Answer<TimelineWire>> {
  const params = { project_id: project.id, trace_id: traceId };
  return api.call<TimelineWire>('getTimeline', { params, query, key: project.key });
}

/**
 * Returns a trace of model calls with 3 input tokens and 1 output token each. In a `chain`, each is
 * below the previous one. In a `fan`, all are below the first.
 */
export function manySpans(form: 'chain' | 'fan', count: number, traceId: string): SpanInput[] {
  const ids = Array.from({ length: count }, (_, index) => (index + 1).toString(16).padStart(16, '0'));
  const begin = nowNano(-60_000);
  return ids.map((spanId, index) => {
    const parentSpanId = index === 0 ? '' : (ids[form === 'chain' ? index - 1 : 0] ?? '');
    const step = BigInt(index) * 100_000n;
    return aModelCall(3, 1, {
      traceId,
      spanId,
      parentSpanId,
      startUnixNano: begin + step,
      endUnixNano: begin + 60_000_000_000n - (form === 'chain' ? step : 0n),
    });
  });
}

/**
 * Returns the shortest duration of a call and its last result. Other processes of the machine
 * affect the shortest duration the least. Calls up to 15 times until the duration is less than
 * `enoughMs`.
 */
export async function fastestMs<T>(enoughMs: number, call: () => Promise<T>): Promise<[number, T]> {
  let fastest = Number.POSITIVE_INFINITY;
  let result: T | undefined;
  for (let run = 0; run < 15 && fastest >= enoughMs; run++) {
    const startedAtMs = performance.now();
    result = await call();
    fastest = Math.min(fastest, performance.now() - startedAtMs);
  }
  if (result === undefined) throw new Error('The call returned no result');
  return [fastest, result];
}

export function listExecutions(
  api: TestApi,
  project: ProjectOfTest,
  query: Query = {},
): Promise<Answer<ExecutionPage>> {
  return api.call<ExecutionPage>('listExecutions', { params: { project_id: project.id }, query, key: project.key });
}

/** Decodes the export response independently of the product. The empty message is {}. */
export function decodeResponse(encoding: Encoding, bytes: Buffer): Record<string, unknown> {
  if (encoding === 'json') return JSON.parse(bytes.toString());
  return ExportTraceServiceResponse.toObject(ExportTraceServiceResponse.decode(bytes), { longs: String });
}

export interface DecodedStatus {
  code: number;
  message: string;
  fieldViolations: { field: string; description: string }[];
}

/** Decodes a google.rpc.Status independently of the product. */
export function decodeStatus(encoding: Encoding, bytes: Buffer): DecodedStatus {
  const status = encoding === 'json' ? JSON.parse(bytes.toString()) : RpcStatus.toObject(RpcStatus.decode(bytes));
  const details: { value?: Buffer; fieldViolations?: DecodedStatus['fieldViolations'] }[] = status.details ?? [];
  const fieldViolations = details.flatMap(({ value, fieldViolations: given }) =>
    value === undefined ? (given ?? []) : BadRequest.toObject(BadRequest.decode(value)).fieldViolations,
  );
  return { code: status.code, message: status.message, fieldViolations };
}
