import { endpointsFor } from '../../http/endpoint.ts';
import { type Principal, projectOf } from '../auth/index.ts';
import { promptKind } from '../prompts/index.ts';
import { calledIn, itemParams, projectParams } from '../versioned/index.ts';
import { renderBody, renderedSchema, renderedToWire } from './render.schema.ts';
import { renderPrompt } from './render-prompt.ts';
import { draftFrom, validateBody, validatedSchema, validatedToWire } from './validate.schema.ts';
import { type ValidateDeps, validateDraft } from './validate-draft.ts';

const { endpoint } = endpointsFor<Principal>();

const rendering = {
  method: 'POST',
  access: { scope: 'prompts:read' },
  rateClass: 'render',
  tag: 'prompts',
} as const;

const notFound = ['project_not_found', 'prompt_not_found', 'version_not_found', 'label_not_found'] as const;
const path = '/api/projects/{project_id}/prompts';

/** Returns the endpoints that render a prompt and validate a draft. */
export function renderingEndpoints(deps: ValidateDeps) {
  return [renderEndpoint(deps), validateEndpoint(deps)];
}

function renderEndpoint(deps: ValidateDeps) {
  return endpoint({
    ...rendering,
    operationId: 'renderPrompt',
    path: `${path}/{prompt_id}/render`,
    summary: 'Render a version of a prompt with variables, the newest by default',
    description:
      'References to parts without a version follow the newest; `parts` says what they came to. Tokens are exact where the ' +
      "model's encoding is public and counting keeps up; otherwise `estimated` is true.",
    params: itemParams(promptKind),
    body: renderBody,
    responses: { 200: { description: 'The rendered text or messages', schema: renderedSchema } },
    problems: [
      ...notFound,
      ...(['missing_variables', 'invalid_variables', 'template_limit', 'invalid_template'] as const),
      ...(['unknown_part', 'part_cycle', 'invalid_input_schema', 'workspace_busy', 'server_busy'] as const),
    ],
    handle: async (call) => {
      const { principal, params, body } = call;
      const { version, label, variables, placeholders, model } = body;
      const result = await renderPrompt(deps, {
        project: projectOf(principal),
        waiter: call,
        called: calledIn(promptKind, params),
        ...{ version, label, variables, placeholders, model },
        onMissing: body.on_missing,
        onExtra: body.on_extra,
      });
      return { status: 200, body: renderedToWire(result, label) };
    },
  });
}

function validateEndpoint(deps: ValidateDeps) {
  return endpoint({
    ...rendering,
    operationId: 'validatePrompt',
    path: `${path}/validate`,
    summary: 'Look at a draft of a prompt or part before it is saved',
    description:
      'A draft with faults is answered with `valid: false` and where they are. Nothing is stored. `compare_to` says whether ' +
      'callers of a saved version could go over to the draft.',
    params: projectParams,
    body: validateBody,
    responses: { 200: { description: 'What there is to say of it', schema: validatedSchema } },
    problems: [...notFound, 'workspace_busy', 'server_busy'],
    handle: async (call) => {
      const { principal, body } = call;
      const draft = { project: projectOf(principal), waiter: call, ...draftFrom(body) };
      const report = await validateDraft(deps, draft);
      return { status: 200, body: validatedToWire(report) };
    },
  });
}
