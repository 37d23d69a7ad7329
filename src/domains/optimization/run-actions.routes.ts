import { z } from 'zod';
import { endpointsFor } from '../../http/endpoint.ts';
import { auditActorOf, limitedWorkspaceOf, type Principal, projectOf } from '../auth/index.ts';
import { type PromptContent, promptVersionSchema, promptVersionToWire } from '../prompts/index.ts';
import { actingFor, type ItemCache } from '../versioned/index.ts';
import { type ApplyRunDeps, applyRun } from './apply-run.ts';
import { cancelRun, deleteRun } from './cancel-run.ts';
import { pathOfRun } from './config.schema.ts';
import { acting, runParams, runPath, runProblems } from './params.schema.ts';
import { type ReadRunDeps, readRun } from './read-run.ts';
import { type RerunDeps, rerun } from './rerun.ts';
import { createdRunSchema, createdRunToWire, runSchema, runToWire } from './run.schema.ts';
import type { Run } from './run.ts';
import { countCandidates } from './run-list-store.ts';

export interface ChangeRunDeps extends RerunDeps, Pick<ReadRunDeps, 'postgres'> {
  prompts: ItemCache<PromptContent>;
  collection: ApplyRunDeps['collection'];
}

const { endpoint } = endpointsFor<Principal>();

/** Returns the endpoints that cancel, apply, repeat and delete a run. */
export function runActionEndpoints(deps: ChangeRunDeps) {
  return [cancelEndpoint(deps), applyEndpoint(deps), rerunEndpoint(deps), deleteEndpoint(deps)];
}

function cancelEndpoint(deps: ChangeRunDeps) {
  return endpoint({
    ...acting,
    operationId: 'cancelOptimizationRun',
    method: 'POST',
    path: `${runPath}/cancel`,
    summary: 'Cancel an optimization run',
    description: 'Requests to models are stopped within seconds. What the run has found can still be read and applied.',
    params: runParams,
    responses: {
      200: { description: 'The run, which was cancelled before', schema: runSchema },
      202: { description: 'The run, which ends', schema: runSchema },
    },
    problems: [...runProblems, 'run_not_active'],
    handle: async ({ principal, params, requestId }) => {
      const found = await readRun(deps, runNamed(principal, params));
      const actor = auditActorOf(principal, requestId);
      const { run, wasCancelled } = await cancelRun(deps.postgres, { key: found, actor });
      const body = await wireOf(deps, run);
      return wasCancelled ? { status: 200, body } : { status: 202, body };
    },
  });
}

const applyBody = z
  .strictObject({
    candidate_id: z.string().min(1).max(64).optional().meta({ description: 'Default: the winner, or the best so far' }),
    force: z
      .boolean()
      .default(false)
      .meta({ description: 'Whether to apply it although the prompt has newer versions' }),
  })
  .prefault({})
  .meta({ example: { force: false } });

const appliedSchema = promptVersionSchema
  .extend({ prompt_id: z.string(), run_id: z.string(), candidate_id: z.string() })
  .meta({ id: 'AppliedOptimization' });

function applyEndpoint(deps: ChangeRunDeps) {
  return endpoint({
    ...acting,
    operationId: 'applyOptimizationRun',
    method: 'POST',
    path: `${runPath}/apply`,
    summary: 'Make a candidate of an ended optimization run the newest version of the prompt',
    description:
      'A run makes one version. Another request gets that version again, whichever candidate of the run it names.',
    params: runParams,
    body: applyBody,
    responses: {
      200: { description: 'The version that an earlier request has made', schema: appliedSchema },
      201: { description: 'The new version', schema: appliedSchema },
    },
    problems: [
      ...runProblems,
      ...(['candidate_not_found', 'run_not_terminal', 'base_version_changed', 'nothing_to_apply'] as const),
      ...(['version_not_found', 'invalid_template', 'template_limit', 'invalid_input_schema', 'part_cycle'] as const),
      ...(['workspace_busy', 'server_busy'] as const),
    ],
    handle: async (call) => {
      const { principal, params, body, requestId } = call;
      const run = await readRun(deps, runNamed(principal, params));
      const applied = await applyRun(deps, {
        ...actingFor(principal, requestId, call),
        ...{ promptId: run.promptId, runId: run.id, candidateId: body.candidate_id, force: body.force },
      });
      const item = await deps.prompts.read(run, run.promptId);
      const version = await deps.prompts.readVersion(run, item, applied.version);
      const ids = { prompt_id: run.promptId, run_id: run.id, candidate_id: applied.candidateId };
      const answer = { ...promptVersionToWire(version), ...ids };
      return applied.isNew ? { status: 201, body: answer } : { status: 200, body: answer };
    },
  });
}

function rerunEndpoint(deps: ChangeRunDeps) {
  return endpoint({
    ...acting,
    operationId: 'rerunOptimization',
    method: 'POST',
    path: `${runPath}/rerun`,
    summary: 'Start a run with the rows and the settings of one that has ended',
    params: runParams,
    responses: { 202: { description: 'The new run, which begins in its turn', schema: createdRunSchema } },
    problems: [
      ...(['project_not_found', 'prompt_not_found', 'run_not_found', 'run_not_terminal', 'run_in_progress'] as const),
      ...([
        'budget_exceeded',
        'quota_exceeded',
        'too_many_runs',
        'queue_unavailable',
        'clickhouse_unavailable',
        'model_not_configured',
      ] as const),
      ...(['price_unknown', 'budget_too_small'] as const),
    ],
    handle: async ({ principal, params, requestId }) => {
      const project = projectOf(principal);
      const prompt = await deps.prompts.read(project, params.prompt_id);
      const actor = auditActorOf(principal, requestId);
      const limited = limitedWorkspaceOf(principal);
      const run = await rerun(deps, { project, actor, limited, prompt, runId: params.run_id });
      return { status: 202, body: createdRunToWire(run), headers: { Location: pathOfRun(run) } };
    },
  });
}

function deleteEndpoint(deps: ChangeRunDeps) {
  return endpoint({
    ...acting,
    operationId: 'deleteOptimizationRun',
    method: 'DELETE',
    path: runPath,
    summary: 'Delete an optimization run that has ended, with its rows and candidates',
    description: 'Versions that were made of it stay.',
    params: runParams,
    conditional: true,
    responses: { 204: { description: 'The run is deleted' } },
    problems: [...runProblems, 'run_not_terminal'],
    handle: async ({ principal, params, requestId, ifMatch }) => {
      const run = await readRun(deps, runNamed(principal, params));
      await deleteRun(deps.postgres, { key: run, actor: auditActorOf(principal, requestId), ifMatch });
      return { status: 204 };
    },
  });
}

function runNamed(principal: Principal, params: { prompt_id: string; run_id: string }) {
  return { project: projectOf(principal), idOrSlug: params.prompt_id, runId: params.run_id };
}

async function wireOf({ postgres }: ChangeRunDeps, run: Run) {
  const counts = await countCandidates(postgres, run.projectId, [run.id]);
  return runToWire(run, counts.get(run.id) ?? {});
}
