import { randomUUID } from 'node:crypto';
import type { Contract } from '../../../src/http/endpoint.ts';
import { encodeSpans } from '../otlp-encode.ts';
import { aModelCall } from '../spans.ts';
import { contentTypes } from '../traces.ts';

const price = { model: 'own', input_per_million: '1', output_per_million: '1' };

/** A body that each operation accepts: a request refused for its body would prove nothing. Spans are of the given trace. */
const jsonBodies: Readonly<Record<string, (traceId: string) => unknown>> = {
  createApiKey: () => ({ name: 'of the matrix' }),
  rotateApiKey: () => ({}),
  createProject: () => ({ name: randomUUID() }),
  updateWorkspace: () => ({ name: 'of the matrix' }),
  updateMember: () => ({ role: 'viewer' }),
  putModelPrices: () => ({ prices: [price] }),
  createExecution: (traceId) => ({ trace_id: traceId, name: 'of the matrix', kind: 'llm' }),
  receiveIdentityWebhook: () => ({}),
};

/** Throws for an operation that takes a body and has none here, which is how a new one is noticed. */
export function bodyFor(
  { operationId, body, reads }: Contract,
  traceId: string,
): { contentType?: string; body?: string | Uint8Array<ArrayBuffer> } {
  if (operationId === 'exportTraces') {
    const bytes = Buffer.from(encodeSpans('protobuf', [aModelCall(1, 1, { traceId })]));
    return { contentType: contentTypes.protobuf, body: bytes };
  }
  const make = jsonBodies[operationId];
  if (make !== undefined) return { contentType: 'application/json', body: JSON.stringify(make(traceId)) };
  if (body !== undefined || reads !== undefined) throw new Error(`The matrix has no body for ${operationId}`);
  return {};
}
