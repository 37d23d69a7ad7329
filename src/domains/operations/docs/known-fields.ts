import type { KnownFields } from '../../../http/openapi/json-object.ts';

/** Descriptions and examples by name, for parameters and examples whose schema has none. */
export const knownFields = {
  project_id: { description: 'The project', example: 'prj_01k0w2n3t4v5x6y7z8a9b0c1d2' },
  workspace_id: { description: 'The workspace', example: 'wsp_01k0w2n3t4v5x6y7z8a9b0c1d2' },
  prompt_id: { description: 'The prompt', example: 'prm_01k0w2n3t4v5x6y7z8a9b0c1d2' },
  user_id: { description: 'The user', example: 'usr_01k0w2n3t4v5x6y7z8a9b0c1d2' },
  identity_provider: { description: 'One of clerk, workos, generic', example: 'clerk' },
  key_id: { description: 'The API key', example: 'key_01k0w2n3t4v5x6y7z8a9b0c1d2' },
  body_id: { description: 'The quarantined body', example: '5f1c9d0e7a3b' },
  trace_id: { description: 'The trace: 32 lower-case hex digits', example: '4bf92f3577b34da6a3ce929d0e0e4736' },
  span_id: { description: 'The span: 16 lower-case hex digits', example: '00f067aa0ba902b7' },
  parent_span_id: { description: 'The span it is a child of', example: '5fb397be34d26b51' },
  request_id: { description: 'The request', example: '1f0c6c1e-8f57-4a55-9d0e-0b6a6f8f3c11' },
  name: { description: 'A name for people', example: 'support' },
  email: { description: 'An e-mail address', example: 'ada@example.com' },
} as const satisfies KnownFields;

/** Rules for all operations. An empty line separates paragraphs. */
export const apiDescription = [
  'JSON in and out, in snake_case and UTF-8. Times are RFC 3339 in UTC, money is a decimal string in US dollars, ids are opaque.',
  'Credentials: an API key in `X-API-Key` acts in one project with its scopes; a token in `Authorization: Bearer` acts for a user ' +
    'in their workspaces; `X-Admin-Key` is the operator. What a caller may not see is answered as if it did not exist.',
  'Errors are RFC 9457 problems (`application/problem+json`) with a stable `code`, of which `x-problem-codes` has all, and, for bad ' +
    'input, every fault in `errors`. Unknown fields and parameters are refused. 429 and 503 say in `Retry-After` when to try again.',
  'Lists answer `data` and `page`; pass `page.next_cursor` as `cursor` for more. A cursor is bound to its filters.',
  'A POST that creates takes an `Idempotency-Key`: for 24 hours the same request under the same key is answered as the first was, ' +
    'with `Idempotency-Replayed: true`, and has no second effect. A server that died midway leaves a key that answers 409 ' +
    '`idempotency_answer_lost`: look for the effect before trying again with a new key.',
  'Reads with an `ETag` answer `If-None-Match` with 304; changes hear `If-Match` and answer 412 when the thing has changed since.',
].join('\n\n');
