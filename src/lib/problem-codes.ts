/**
 * The only registry of error codes: kind -> code -> title. A code belongs to exactly one kind, so a
 * code implies its status. Each domain adds its codes here; the OpenAPI document publishes them.
 */
export const problemCodes = {
  malformed: {
    malformed_request: 'The request is not valid HTTP',
    malformed_json: 'The body is not valid JSON',
    incomplete_body: 'The body is incomplete',
    json_too_deep: 'The JSON is nested too deeply',
    malformed_path: 'The path has invalid percent-encoding',
    unknown_field: 'The body has a field that does not exist',
    unknown_parameter: 'The query has a parameter that does not exist',
    invalid_parameter: 'A query parameter has a value that is not allowed',
    invalid_header: 'A header has a value that is not allowed',
    invalid_cursor: 'This service did not issue the cursor',
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
    forbidden: 'The credentials do not allow this operation',
    insufficient_scope: 'The API key does not have the required scope',
    insufficient_role: 'The role does not allow this operation',
    admin_required: 'This operation is not available with this kind of credential',
    api_key_required: 'This operation requires an API key',
    organization_not_accessible: 'The token names an organization that the user is not a member of',
  },
  not_found: {
    route_not_found: 'The route does not exist',
    not_found: 'The resource does not exist or is not visible to the caller',
    project_not_found: 'The project does not exist or is not visible to the caller',
    workspace_not_found: 'The workspace does not exist or is not visible to the caller',
    member_not_found: 'The workspace does not have this member',
    api_key_not_found: 'The project does not have this API key',
    prompt_not_found: 'The project does not have this prompt',
    part_not_found: 'The project does not have this part',
    version_not_found: 'The version does not exist',
    label_not_found: 'The label does not exist',
    execution_not_found: 'The project does not have this execution',
    feedback_not_found: 'The project does not have this feedback',
    span_not_found: 'The execution does not have this span',
    run_not_found: 'The optimization run does not exist',
    candidate_not_found: 'The optimization run does not have this candidate',
    webhook_not_found: 'The project does not have this webhook',
    delivery_not_found: 'The webhook does not have this delivery',
    provider_not_found: 'The identity provider does not exist or is not configured',
  },
  method_not_allowed: {
    method_not_allowed: 'The route does not support this method',
  },
  conflict: {
    conflict: 'The request conflicts with the current state',
    name_taken: 'The name is taken',
    last_owner: 'The workspace would be left without an owner',
    slug_taken: 'The slug is taken',
    version_conflict: 'The resource changed after it was read',
    too_many_projects: 'The workspace has the largest number of projects',
    too_many_webhooks: 'The project or the workspace has the largest number of webhooks',
    webhook_disabled: 'The webhook is disabled',
    delivery_pending: 'The event is still being sent to the webhook',
    part_in_use: 'The part is in use',
    run_in_progress: 'An optimization run of the prompt has not ended',
    run_not_active: 'The optimization run has ended',
    run_not_terminal: 'The optimization run has not ended',
    base_version_changed: 'The prompt has a newer version than the run started from',
    nothing_to_apply: 'The optimization run has no candidate to apply',
    idempotency_in_flight: 'The first request with this idempotency key has no response yet',
    idempotency_answer_lost: 'The response to the first request with this idempotency key was not stored',
  },
  precondition_failed: {
    precondition_failed: 'If-Match does not match the current version',
  },
  too_large: {
    body_too_large: 'The body is too large',
    result_too_large: 'The response would be too large',
    query_too_large: 'The query would read too much data',
    dataset_too_large: 'The data set has too many rows or is too large',
  },
  unsupported_media_type: {
    unsupported_media_type: 'The media type is not supported',
    unsupported_content_encoding: 'The content encoding is not supported',
  },
  invalid: {
    invalid_body: 'The body has the correct syntax but its content is not valid',
    invalid_path_parameter: 'A path parameter has a value that is not allowed',
    idempotency_key_reused: 'The idempotency key was used with another body',
    invalid_template: 'The template has a syntax error',
    template_limit: 'The template exceeds a limit',
    missing_variables: 'Variables that the template needs are missing',
    invalid_input_schema: 'The input schema is not a valid JSON Schema',
    invalid_variables: 'The variables do not match the input schema',
    part_cycle: 'The parts include each other in a cycle',
    unknown_part: 'The template names a part that does not exist',
    insufficient_data: 'There are too few rows to optimize with',
    metric_needs_expected: 'A metric needs expected values that rows do not have',
    invalid_metric: 'A metric cannot be used',
    budget_too_small: 'The limits of the run are too small',
    price_unknown: 'A model has no price',
    model_not_configured: 'No model is configured',
    template_has_no_mutable_text: 'The template has no text that could change',
  },
  rate_limited: {
    rate_limited: 'Too many requests',
    workspace_busy: 'This workspace has too many requests in progress',
    too_many_runs: 'This workspace has too many optimization runs that have not ended',
  },
  unavailable: {
    dependency_unavailable: 'A dependency is unavailable',
    server_busy: 'This server has too many requests in progress',
    postgres_unavailable: 'The database is unavailable',
    clickhouse_unavailable: 'The trace store is unavailable',
    query_timeout: 'The query took too long',
    queue_unavailable: 'The queue is unavailable',
    identity_unavailable: 'The identity provider is unavailable',
    ingest_unavailable: 'The service cannot accept spans at the moment',
  },
  request_timeout: {
    request_timeout: 'The request did not arrive in time',
  },
  headers_too_large: {
    headers_too_large: 'The request line and headers are too large',
  },
  internal: {
    internal_error: 'An internal error occurred',
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
