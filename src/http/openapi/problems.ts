import { listProblemCodes, type ProblemCode } from '../../lib/problem-codes.ts';
import type { Access, Contract } from '../endpoint.ts';
import { changesUntagged } from '../etag.ts';
import { isIdempotent } from '../idempotency.ts';
import { statusByKind } from '../problem.ts';

const bodyCodes = [
  'malformed_json',
  'incomplete_body',
  'json_too_deep',
  'unknown_field',
  'invalid_body',
  'body_too_large',
  'unsupported_media_type',
  'unsupported_content_encoding',
  'corrupt_body',
] as const satisfies readonly ProblemCode[];

/**
 * Returns the error codes of an endpoint by status: those that follow from its shape, and those its
 * contract adds.
 */
export function problemsOf(contract: Contract): ReadonlyMap<number, ProblemCode[]> {
  const kinds = new Map(listProblemCodes().map(({ code, kind }) => [code, kind]));
  const byStatus = new Map<number, ProblemCode[]>();
  for (const code of new Set(codesOf(contract))) {
    const status = statusByKind[kinds.get(code) ?? 'internal'];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return byStatus;
}

function codesOf(contract: Contract): ProblemCode[] {
  const { access, params, query, body, method, conditional, rateClass, problems = [] } = contract;
  const codes: ProblemCode[] = ['unknown_parameter', 'invalid_parameter', 'internal_error', 'dependency_unavailable'];
  codes.push(...accessCodes(access));
  if (rateClass !== 'none') codes.push('rate_limited');
  if (params) codes.push('malformed_path', 'invalid_path_parameter');
  if (params?.shape.project_id) codes.push('project_not_found');
  if (params?.shape.workspace_id) codes.push('workspace_not_found');
  if (query?.shape.cursor) codes.push('invalid_cursor', 'cursor_mismatch');
  if (body && rateClass === 'write') codes.push('quota_exceeded');
  if (body) codes.push(...bodyCodes);
  else if (method !== 'GET') codes.push('body_too_large', 'unsupported_content_encoding');
  if ((conditional && method !== 'GET') || changesUntagged(contract))
    codes.push('invalid_header', 'precondition_failed');
  if (isIdempotent(contract)) {
    codes.push('invalid_header', 'idempotency_in_flight', 'idempotency_answer_lost', 'idempotency_key_reused');
  }
  return [...codes, ...problems];
}

function accessCodes(access: Access): ProblemCode[] {
  if ('open' in access) return [];
  const known: ProblemCode[] = ['credentials_required', 'invalid_credentials', 'postgres_unavailable', 'query_timeout'];
  if ('scope' in access) return [...known, 'insufficient_scope', 'insufficient_role'];
  if ('role' in access) return [...known, 'admin_required', 'insufficient_role'];
  return 'admin' in access ? [...known, 'admin_required'] : known;
}
