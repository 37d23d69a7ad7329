import { randomUUID } from 'node:crypto';
import type { Contract } from '../../../src/http/endpoint.ts';
import { logBody, messageRecord } from '../logs.ts';
import { encodeSpans } from '../otlp-encode.ts';
import { aModelCall, newSpanId } from '../spans.ts';
import { contentTypes } from '../traces.ts';

/** The parts of a request other than its path. */
export interface Sent {
  query: string;
  contentType?: string;
  body?: string | Uint8Array<ArrayBuffer>;
}

const price = { model: 'own', input_per_million: '1', output_per_million: '1' };
const template = 'of the matrix';
const optimizedRows = Array.from({ length: 20 }, (_, index) => ({ inputs: { index }, expected: 'yes' }));

/**
 * A body that each operation accepts. If a body were faulty, a refusal would prove nothing. Spans
 * belong to the given trace.
 */
const jsonBodies: Readonly<Record<string, (traceId: string) => unknown>> = {
  createApiKey: () => ({ name: 'of the matrix' }),
  rotateApiKey: () => ({}),
  createProject: () => ({ name: randomUUID() }),
  updateWorkspace: () => ({ name: 'of the matrix' }),
  updateMember: () => ({ role: 'viewer' }),
  createWebhook: () => ({ url: 'https://example.com/matrix', events: ['prompt.deleted'], enabled: false }),
  updateWebhook: () => ({ description: 'of the matrix' }),
  rotateWebhookSecret: () => ({}),
  putModelPrices: () => ({ prices: [price] }),
  putBudget: () => ({ amount: '1000', currency: 'USD', period: 'monthly' }),
  createExecution: (traceId) => ({ trace_id: traceId, name: 'of the matrix', kind: 'llm' }),
  createFeedback: (traceId) => ({ target_type: 'execution', trace_id: traceId, rating: 'up' }),
  createFeedbackToken: (traceId) => ({ trace_id: traceId }),
  receiveIdentityWebhook: () => ({}),
  createPart: () => ({ name: randomUUID(), template }),
  createPrompt: () => ({ name: randomUUID(), type: 'text', template }),
  updatePart: () => ({ template }),
  updatePrompt: () => ({ template }),
  rollbackPart: () => ({ version: 1 }),
  rollbackPrompt: () => ({ version: 1 }),
  putPartLabel: () => ({ version: 1 }),
  putPromptLabel: () => ({ version: 1 }),
  renderPrompt: () => ({}),
  validatePrompt: () => ({ template }),
  optimizePrompt: () => ({ dataset: { source: 'inline', rows: optimizedRows } }),
  applyOptimizationRun: () => ({ force: true }),
};

/** Queries of the operations that require one. */
const queries: Readonly<Record<string, string>> = { diffPrompt: '?from=1' };

/**
 * Returns the body and the query of a request. `exported` is an export of prompts and parts. Throws
 * for an operation that requires a body but has none here. So a new operation is noticed.
 */
export function sentBy(
  { operationId, body, reads }: Pick<Contract, 'operationId' | 'body' | 'reads'>,
  { traceId, exported }: { traceId: string; exported: string },
): Sent {
  const query = queries[operationId] ?? '';
  if (operationId === 'exportTraces') {
    const bytes = Buffer.from(encodeSpans('protobuf', [aModelCall(1, 1, { traceId })]));
    return { query, contentType: contentTypes.protobuf, body: bytes };
  }
  if (operationId === 'exportLogs') {
    const body = logBody([messageRecord('user', 'a question', { traceId, spanId: newSpanId() })]);
    return { query, contentType: contentTypes.json, body: Buffer.from(body) };
  }
  if (operationId === 'exportMetrics') return { query, contentType: contentTypes.json, body: Buffer.from('{}') };
  if (operationId === 'importPrompts') {
    // The names are not in use, so that an import that must be refused is detected.
    const lines = exported.replaceAll('"slug":"', `"slug":"${randomUUID()}-`);
    return { query, contentType: 'application/x-ndjson', body: lines };
  }
  const make = jsonBodies[operationId];
  if (make !== undefined) return { query, contentType: 'application/json', body: JSON.stringify(make(traceId)) };
  if (body !== undefined || reads !== undefined) throw new Error(`The matrix has no body for ${operationId}`);
  return { query };
}
