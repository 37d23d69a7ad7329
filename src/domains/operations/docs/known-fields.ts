import type { KnownFields } from '../../../http/openapi/json-object.ts';

/** Descriptions and examples by name, for parameters and examples whose schema has none. */
export const knownFields = {
  project_id: { description: 'The project', example: 'prj_01k0w2n3t4v5x6y7z8a9b0c1d2' },
  workspace_id: { description: 'The workspace', example: 'wsp_01k0w2n3t4v5x6y7z8a9b0c1d2' },
  prompt_id: { description: 'The prompt', example: 'prm_01k0w2n3t4v5x6y7z8a9b0c1d2' },
  user_id: { description: 'The user', example: 'usr_01k0w2n3t4v5x6y7z8a9b0c1d2' },
  identity_provider: { description: 'One of clerk, workos and generic', example: 'clerk' },
  key_id: { description: 'The API key', example: 'key_01k0w2n3t4v5x6y7z8a9b0c1d2' },
  webhook_id: { description: 'The webhook', example: 'whk_01k0w2n3t4v5x6y7z8a9b0c1d2' },
  delivery_id: { description: 'The delivery', example: 'dlv_01k0w2n3t4v5x6y7z8a9b0c1d2' },
  body_id: { description: 'The quarantined body', example: '5f1c9d0e7a3b' },
  run_id: { description: 'The optimization run', example: 'opt_01k0w2n3t4v5x6y7z8a9b0c1d2' },
  candidate_id: { description: 'The candidate', example: '3f9a1c07' },
  trace_id: { description: 'The trace: 32 lower-case hex digits', example: '4bf92f3577b34da6a3ce929d0e0e4736' },
  span_id: { description: 'The span: 16 lower-case hex digits', example: '00f067aa0ba902b7' },
  feedback_id: { description: 'The feedback', example: 'fbk_01k0w2n3t4v5x6y7z8a9b0c1d2' },
  session_id: { description: 'The session: several executions of one conversation', example: 'session-7' },
  parent_span_id: { description: 'The parent span', example: '5fb397be34d26b51' },
  request_id: { description: 'The request', example: '1f0c6c1e-8f57-4a55-9d0e-0b6a6f8f3c11' },
  name: { description: 'A name that is shown to people', example: 'support' },
  email: { description: 'An e-mail address', example: 'ada@example.com' },
} as const satisfies KnownFields;

/** Rules for all operations. An empty line separates paragraphs. */
export const apiDescription = [
  'Requests and responses are JSON in snake_case and UTF-8. Times are RFC 3339 in UTC. Amounts of money are decimal strings in US ' +
    'dollars. Ids are opaque.',
  'Credentials: An API key in `X-API-Key` has access to one project, with its scopes. A token in `Authorization: Bearer` has the ' +
    'access of a user in their workspaces. `X-Admin-Key` is the key of the operator. A resource that the caller must not see gets ' +
    'the same response as a resource that does not exist.',
  'Errors are RFC 9457 problems (`application/problem+json`) with a stable `code`. `x-problem-codes` lists all codes. If the input ' +
    'is not valid, `errors` lists every fault. Unknown fields and parameters are refused. With 429 and 503, `Retry-After` contains ' +
    'the time after which to send the request again.',
  'Lists return `data` and `page`. To get the next page, send `page.next_cursor` as `cursor`. A cursor is valid only with the same ' +
    'filters.',
  'A POST that creates something accepts an `Idempotency-Key`. For 24 hours, the same request with the same key gets the response ' +
    'of the first request, with `Idempotency-Replayed: true`, and has no second effect. If a server ends during the first request, ' +
    'the key gets 409 `idempotency_answer_lost`. Then check the effect before you send the request again with a new key.',
  'A read with an `ETag` responds to a matching `If-None-Match` with 304. A change with an `If-Match` responds with 412 if the ' +
    'resource has changed since.',
].join('\n\n');
