/**
 * The only registry of error codes: kind -> code -> title. A code belongs to exactly one kind, so a
 * code implies its status. Each domain adds its codes here; the OpenAPI document publishes them.
 */
export const problemCodes = {
  malformed: {
    malformed_request: 'The request is not valid HTTP',
    malformed_json: 'The body is not valid JSON',
    incomplete_body: 'The body ended early',
    json_too_deep: 'The JSON is nested too deeply',
    malformed_path: 'The path is not validly encoded',
    unknown_field: 'The body has a field that does not exist',
    unknown_parameter: 'The query has a parameter that does not exist',
    invalid_parameter: 'A query parameter has a value that is not allowed',
    invalid_header: 'A header has a value that is not allowed',
    invalid_cursor: 'The cursor is not one this service issued',
    cursor_mismatch: 'The cursor belongs to another list',
    unknown_filter_field: 'The filter names a field that does not exist',
    invalid_filter: 'The filter is malformed',
    malformed_otlp: 'The OTLP request cannot be decoded',
    spans_rejected: 'Every span of the request was rejected',
    corrupt_body: 'The body does not match its Content-Encoding',
  },
  unauthenticated: {
    credentials_required: 'Credentials are missing',
    invalid_credentials: 'The credentials are not valid',
    invalid_signature: 'The signature is missing, wrong or too old',
  },
  exhausted: {
    quota_exceeded: 'The quota of the plan is used up',
    budget_exceeded: 'The budget is used up',
  },
  forbidden: {
    forbidden: 'These credentials may not do this',
    insufficient_scope: 'The key lacks the scope this needs',
    insufficient_role: 'The role does not allow this',
    admin_required: 'This needs a workspace administrator',
    api_key_required: 'This needs an API key',
    organization_not_accessible: 'The token names an organization the user is not a member of',
  },
  not_found: {
    route_not_found: 'There is no such route',
    signal_not_offered: 'This OpenTelemetry signal is not taken',
    not_found: 'There is no such thing, or it is not visible to the caller',
    project_not_found: 'There is no such project, or it is not visible to the caller',
    workspace_not_found: 'There is no such workspace, or it is not visible to the caller',
    member_not_found: 'There is no such member in this workspace',
    api_key_not_found: 'There is no such API key in this project',
    prompt_not_found: 'There is no such prompt in this project',
    part_not_found: 'There is no such part in this project',
    version_not_found: 'There is no such version',
    label_not_found: 'There is no such label',
    execution_not_found: 'There is no such execution in this project',
    span_not_found: 'There is no such span in this execution',
    run_not_found: 'There is no such optimization run',
    webhook_not_found: 'There is no such webhook in this project',
    provider_not_found: 'There is no such identity provider, or it is not configured',
  },
  method_not_allowed: {
    method_not_allowed: 'The route does not serve this method',
  },
  conflict: {
    conflict: 'The request conflicts with the current state',
    name_taken: 'The name is taken',
    last_owner: 'The workspace would be left without an owner',
    slug_taken: 'The slug is taken',
    version_conflict: 'The thing has changed since it was read',
    part_in_use: 'The part is in use',
    idempotency_in_flight: 'The first request with this idempotency key has no answer yet',
    idempotency_answer_lost: 'The first request with this idempotency key left no answer to give again',
  },
  precondition_failed: {
    precondition_failed: 'If-Match does not match the current version',
  },
  too_large: {
    body_too_large: 'The body is too large',
    result_too_large: 'The answer would be too large',
    query_too_large: 'The query would have to read too much',
  },
  unsupported_media_type: {
    unsupported_media_type: 'The media type is not supported',
    unsupported_content_encoding: 'The content encoding is not supported',
  },
  invalid: {
    invalid_body: 'The body is well-formed but not valid',
    invalid_path_parameter: 'A path parameter has a value that is not allowed',
    idempotency_key_reused: 'The idempotency key was used with another body',
    invalid_template: 'The template does not parse',
    template_limit: 'The template goes over a limit',
    missing_variables: 'Variables the template needs are missing',
    invalid_input_schema: 'The input schema is not a usable JSON Schema',
    invalid_variables: 'The variables do not match the input schema',
    part_cycle: 'The parts include each other in a cycle',
    unknown_part: 'The template names a part that does not exist',
  },
  rate_limited: {
    rate_limited: 'Too many requests',
    workspace_busy: 'This workspace has too much under way at once',
  },
  unavailable: {
    dependency_unavailable: 'A dependency is away',
    server_busy: 'This server has too much under way at once',
    postgres_unavailable: 'The database is away',
    clickhouse_unavailable: 'The trace store is away',
    query_timeout: 'The query takes too long',
    queue_unavailable: 'The queue is away',
    identity_unavailable: 'The identity provider is away',
    ingest_unavailable: 'Spans are not taken right now',
  },
  request_timeout: {
    request_timeout: 'The request did not arrive in time',
  },
  headers_too_large: {
    headers_too_large: 'The request line and headers are too large',
  },
  internal: {
    internal_error: 'Something went wrong on our side',
  },
} as const;

export type ProblemKind = keyof typeof problemCodes;

/**
 * The kind of an error in our code. HTTP statuses and job outcomes are derived from it elsewhere.
 */
export type ErrorKind = Exclude<ProblemKind, 'request_timeout' | 'headers_too_large' | 'internal'>;

/** The codes of one kind, or of a union of kinds. */
export type CodeOf<K extends ProblemKind> = K extends ProblemKind ? keyof (typeof problemCodes)[K] & string : never;

export type ProblemCode = CodeOf<ProblemKind>;

export interface ProblemCodeEntry {
  code: ProblemCode;
  kind: ProblemKind;
  title: string;
}

/** Returns every code with its kind and title, in registry order. */
export function listProblemCodes(): ProblemCodeEntry[] {
  return Object.entries(problemCodes).flatMap(([kind, codes]) =>
    Object.entries(codes).map(([code, title]) => ({ code, kind, title }) as ProblemCodeEntry),
  );
}
