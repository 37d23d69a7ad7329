import { endpointsFor } from '../../http/endpoint.ts';
import { type Principal, projectOf } from '../auth/index.ts';
import { promptKind } from '../prompts/index.ts';
import { idOrSlugIn, itemParams, projectParams } from '../versioned/index.ts';
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
    summary: 'Render a version of a prompt with variables, by default the newest version',
    description:
      'A reference to a part without a version uses the newest version. `parts` lists the versions that were used. The token count is ' +
      'exact if the encoding of the model is public and the count finished in time. Otherwise `estimated` is true.',
    params: itemParams(promptKind),
    body: renderBody,
    responses: { 200: { description: 'The rendered text or messages', schema: renderedSchema } },
    problems: [
      ...notFound,
      ...(['missing_variables', 'invalid_variables', 'template_limit', 'invalid_template'] as const),
      ...(['unknown_part', 'part_cycle', 'invalid_input_schema', 'workspace_busy', 'server_busy'] as const),
      'budget_exceeded',
    ],
    handle: async (call) => {
      const { principal, params, body } = call;
      const { version, label, variables, placeholders, model } = body;
      const result = await renderPrompt(deps, {
        project: projectOf(principal),
        waiter: call,
        idOrSlug: idOrSlugIn(promptKind, params),
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
    summary: 'Validate a draft of a prompt or part before it is saved',
    description:
      'For a draft with faults, the response has `valid: false` and the place of each fault. Nothing is stored. With `compare_to`, the ' +
      'response says whether callers of a saved version could use the draft instead.',
    params: projectParams,
    body: validateBody,
    responses: { 200: { description: 'The result of the validation', schema: validatedSchema } },
    problems: [...notFound, 'workspace_busy', 'server_busy'],
    handle: async (call) => {
      const { principal, body } = call;
      const draft = { project: projectOf(principal), waiter: call, ...draftFrom(body) };
      const report = await validateDraft(deps, draft);
      return { status: 200, body: validatedToWire(report) };
    },
  });
}
