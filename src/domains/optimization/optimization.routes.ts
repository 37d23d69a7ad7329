import { z } from 'zod';
import { endpointsFor } from '../../http/endpoint.ts';
import { listOf, pageParams } from '../../http/pagination.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { auditActorOf, limitedWorkspaceOf, type Principal, projectOf } from '../auth/index.ts';
import type { PromptContent } from '../prompts/index.ts';
import type { ItemCache } from '../versioned/index.ts';
import { type CandidatesDeps, candidatesEndpoints } from './candidates.routes.ts';
import { configSchema, configToWire, pathOfRun } from './config.schema.ts';
import { listRunsPage, runSorts } from './list-runs-page.ts';
import { optimizeBody, optimizeLimits } from './optimize.schema.ts';
import {
  acting,
  promptParams,
  promptPath,
  reading,
  runParams,
  runPath,
  runProblems,
  runsPath,
} from './params.schema.ts';
import { type PreparedRun, type PrepareRunDeps, prepareRun } from './prepare-run.ts';
import { readBest, readRun } from './read-run.ts';
import { reportEndpoint } from './report.routes.ts';
import { createdRunSchema, createdRunToWire, planSchema, runSchema, warningSchema } from './run.schema.ts';
import { algorithms, isActive, outcomes, partialRunTag, runStates, runTag } from './run.ts';
import { type ChangeRunDeps, runActionEndpoints } from './run-actions.routes.ts';
import { runDetailSchema, runDetailToWire } from './run-detail.schema.ts';
import { type RunEventsDeps, runEventsEndpoint } from './run-events.routes.ts';
import { countCandidates } from './run-list-store.ts';
import { type StartRunDeps, startRun } from './start-run.ts';

export interface OptimizationDeps extends PrepareRunDeps, StartRunDeps, CandidatesDeps, ChangeRunDeps, RunEventsDeps {
  postgres: Postgres;
  prompts: ItemCache<PromptContent>;
  cursorSecret: string;
}

const { endpoint } = endpointsFor<Principal>();
/** A run stores its progress once a second. */
const retryAfterS = 1;

/** Returns the endpoints of optimization. */
export function optimizationEndpoints(deps: OptimizationDeps) {
  return [
    optimizeEndpoint(deps),
    listEndpoint(deps),
    getEndpoint(deps),
    ...candidatesEndpoints(deps),
    runEventsEndpoint(deps),
    reportEndpoint(deps),
    ...runActionEndpoints(deps),
  ];
}

const planned = z
  .object({
    dry_run: z.literal(true),
    prompt_id: z.string(),
    base_version: z.int(),
    config: configSchema,
    plan: planSchema,
    warnings: z.array(warningSchema),
  })
  .meta({ id: 'OptimizationDryRun' });

function optimizeEndpoint(deps: OptimizationDeps) {
  return endpoint({
    ...acting,
    operationId: 'optimizePrompt',
    method: 'POST',
    path: `${promptPath}/optimize`,
    summary: 'Start a run that searches for a better version of a prompt',
    description:
      `A run needs 6 to ${optimizeLimits.rowsMax} rows with different inputs, in the request or from executions with feedback. It ` +
      'changes no prompt unless `apply` is `if_improved`. A prompt has one run at a time. With `dry_run`, the response has the config ' +
      `with all defaults, the plan and the warnings, and nothing is stored. The body is limited to ${optimizeLimits.bodyBytesMax} bytes.`,
    params: promptParams,
    body: optimizeBody,
    bodyBytesMax: optimizeLimits.bodyBytesMax,
    responses: {
      200: { description: 'What the run would do, with `dry_run`', schema: planned },
      202: { description: 'The run, which begins in its turn', schema: createdRunSchema },
    },
    problems: [
      ...([
        'project_not_found',
        'prompt_not_found',
        'version_not_found',
        'run_in_progress',
        'dataset_too_large',
      ] as const),
      ...([
        'insufficient_data',
        'missing_variables',
        'metric_needs_expected',
        'invalid_metric',
        'budget_too_small',
      ] as const),
      ...(['price_unknown', 'model_not_configured', 'template_has_no_mutable_text', 'unknown_part'] as const),
      ...(['part_cycle', 'template_limit', 'invalid_template', 'invalid_input_schema'] as const),
      ...(['budget_exceeded', 'quota_exceeded', 'too_many_runs', 'workspace_busy', 'server_busy'] as const),
      ...(['queue_unavailable', 'clickhouse_unavailable', 'query_timeout'] as const),
    ],
    handle: async (call) => {
      const { principal, params, body, requestId } = call;
      const project = projectOf(principal);
      const limited = limitedWorkspaceOf(principal);
      const run = await prepareRun(deps, { project, limited, idOrSlug: params.prompt_id, body, waiter: call });
      if (body.dry_run) return { status: 200, body: plannedToWire(run) };
      const actor = auditActorOf(principal, requestId);
      const started = await startRun(deps, { project, actor, limited, run });
      return { status: 202, body: createdRunToWire(started), headers: { Location: pathOfRun(started) } };
    },
  });
}

function plannedToWire(run: PreparedRun): z.infer<typeof planned> {
  const { prompt, baseVersion, config, plan, warnings } = run;
  return {
    ...{ dry_run: true, prompt_id: prompt.id, base_version: baseVersion },
    ...{ config: configToWire(config, run), plan, warnings: [...warnings] },
  };
}

const listQuery = z.strictObject({
  ...pageParams,
  status: z.enum(runStates).optional().meta({ description: 'Only runs with this status' }),
  outcome: z.enum(outcomes).optional().meta({ description: 'Only runs with this outcome' }),
  algorithm: z.enum(algorithms).optional().meta({ description: 'Only runs with this algorithm' }),
  sort: z.enum(runSorts).default('-created_at').meta({ description: 'The order: newest first, or oldest first' }),
});

function listEndpoint(deps: OptimizationDeps) {
  return endpoint({
    ...reading,
    operationId: 'listOptimizationRuns',
    path: runsPath,
    summary: 'List the optimization runs of a prompt',
    params: promptParams,
    query: listQuery,
    responses: { 200: { description: 'A page of runs, with their number as `page.total`', schema: listOf(runSchema) } },
    problems: ['project_not_found', 'prompt_not_found', 'invalid_cursor', 'cursor_mismatch'],
    handle: async ({ principal, params, query: { limit, cursor, sort, ...filters } }) => {
      const project = projectOf(principal);
      const { id: promptId } = await deps.prompts.read(project, params.prompt_id);
      const given = { filters: { projectId: project.projectId, promptId, ...filters }, sort, limit, cursor };
      return { status: 200, body: await listRunsPage(deps, given) };
    },
  });
}

function getEndpoint(deps: OptimizationDeps) {
  return endpoint({
    ...reading,
    operationId: 'getOptimizationRun',
    path: runPath,
    summary: 'Get an optimization run with its config, progress, best candidate and result',
    description:
      'While the run has not ended, `Retry-After` contains the seconds after which its progress may have changed.',
    params: runParams,
    conditional: true,
    responses: { 200: { description: 'The run', schema: runDetailSchema } },
    problems: runProblems,
    handle: async (call) => {
      const { principal, params } = call;
      const run = await readRun(deps, {
        project: projectOf(principal),
        idOrSlug: params.prompt_id,
        runId: params.run_id,
      });
      const [counts, best] = await Promise.all([
        countCandidates(deps.postgres, run.projectId, [run.id]),
        readBest(deps, run, call),
      ]);
      const body = runDetailToWire(run, { counts: counts.get(run.id) ?? {}, best });
      const headers = isActive(run) ? { 'Retry-After': String(retryAfterS) } : {};
      return { status: 200, body, headers, etag: best?.diff === null ? partialRunTag(run) : runTag(run) };
    },
  });
}
