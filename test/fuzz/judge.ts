import { gunzipSync } from 'node:zlib';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { Findings } from './findings.ts';
import type { Document, Operation } from './openapi.ts';
import type { FuzzRequest } from './requests/request.ts';
import type { Answer } from './send.ts';

/**
 * Codes of responses for too many requests at the same time, or for a query that is too large. The
 * caller causes both.
 */
const overloadCodes = new Set(['server_busy', 'query_timeout']);
/** Statuses of HTTP itself. Every operation may return them. */
const protocolStatuses = new Set([400, 405, 408, 413, 415, 417, 431]);
const bodyCharsShown = 300;

/**
 * Compares responses with the OpenAPI document. The status must be declared, the code must be
 * registered, and the body must match its schema. A status of 500 or more is a fault.
 */
export function createJudge(document: Document, operations: readonly Operation[], findings: Findings) {
  const byId = new Map(operations.map((operation) => [operation.operationId, operation]));
  const ajv = new Ajv2020({ strict: false, allErrors: false });
  addFormats.default(ajv);
  ajv.addSchema(document, 'document');

  /** Adds the faults of a response to the findings. Returns the code of an error, or ''. */
  function judge(request: FuzzRequest, answer: Answer): string {
    const parsed = parseAnswer(answer);
    const code = typeof parsed === 'object' && parsed !== null && 'code' in parsed ? String(parsed.code) : '';
    const shown = `${request.operationId} responded with ${answer.status} ${code}`;
    const detail = answer.body.toString().slice(0, bodyCharsShown);
    if (answer.status >= 500) {
      if (answer.status === 503 && overloadCodes.has(code)) findings.note(shown);
      else findings.add('server error', shown, detail, [request]);
      return code;
    }
    if (request.foreign && request.routed && answer.status < 300)
      findings.add('crossed tenants', shown, detail, [request]);
    const fault = contractFault(request, answer, parsed, code);
    if (fault !== undefined) findings.add('contract', `${shown}: ${fault}`, detail, [request]);
    return answer.status >= 400 ? code : '';
  }

  function contractFault(request: FuzzRequest, answer: Answer, parsed: unknown, code: string): string | undefined {
    const { status, headers, body } = answer;
    if (headers['x-request-id'] === undefined && status !== 400 && status !== 431) return 'no X-Request-Id';
    const operation = byId.get(request.operationId);
    const isProblem = headers['content-type']?.startsWith('application/problem+json') === true;
    if (isProblem && document['x-problem-codes'][code]?.status !== status)
      return 'the code is not registered for this status';
    if (!request.routed || operation === undefined || request.method === 'OPTIONS') return undefined;
    const declared = operation.responses[String(status)];
    if (declared === undefined) return protocolStatuses.has(status) ? undefined : 'the status is not declared';
    if (status >= 400 && !isProblem && !operation.path.startsWith('/api/v1/') && body.length > 0)
      return `an error as ${headers['content-type']}`;
    if (
      status >= 300 ||
      declared.content?.['application/json']?.schema === undefined ||
      !headers['content-type']?.startsWith('application/json')
    )
      return undefined;
    const pointer = [
      'paths',
      operation.path,
      operation.method.toLowerCase(),
      'responses',
      String(status),
      'content',
      'application/json',
      'schema',
    ];
    const validate = ajv.compile({
      $ref: `document#/${pointer.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')}`,
    });
    if (validate(parsed)) return undefined;
    const [error] = validate.errors ?? [];
    return `the body does not match its schema: ${error?.instancePath.replaceAll(/\/\d+/g, '/n')} ${error?.message}`;
  }

  return { judge };
}

export type Judge = ReturnType<typeof createJudge>;

/** Returns the JSON of a response; undefined if it has none. */
export function parseAnswer({ headers, body }: Answer): unknown {
  if (!/json/.test(headers['content-type'] ?? '') || body.length === 0) return undefined;
  try {
    return JSON.parse((headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body).toString());
  } catch {
    return undefined;
  }
}
