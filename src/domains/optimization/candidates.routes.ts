import { z } from 'zod';
import { endpointsFor } from '../../http/endpoint.ts';
import { listOf, pageParams } from '../../http/pagination.ts';
import { type Principal, projectOf } from '../auth/index.ts';
import { unknownCandidate } from './apply-run.ts';
import { candidateDetailSchema, candidateSchema, candidateStatuses, candidateToWire } from './candidate.schema.ts';
import { findCandidate } from './candidate-store.ts';
import { listCandidatesPage, readScores } from './list-candidates-page.ts';
import { candidateParams, reading, runParams, runPath, runProblems } from './params.schema.ts';
import { diffFromSeed, type ReadRunDeps, readRun, refOf } from './read-run.ts';

export interface CandidatesDeps extends ReadRunDeps {
  cursorSecret: string;
}

const { endpoint } = endpointsFor<Principal>();

const listQuery = z.strictObject({
  ...pageParams,
  status: z.enum(candidateStatuses).optional().meta({ description: 'Only candidates with this status' }),
  include: z
    .enum(['rows'])
    .optional()
    .meta({ description: '`rows` adds the scores by row. A page then has at most 20 candidates' }),
});

/** Returns the endpoints of the candidates of a run. */
export function candidatesEndpoints(deps: CandidatesDeps) {
  return [
    endpoint({
      ...reading,
      operationId: 'listOptimizationCandidates',
      path: `${runPath}/candidates`,
      summary: 'List the candidates of an optimization run, in the order in which they came to be',
      description:
        'The first is the prompt as it was. `parents` make a tree. A page has fewer candidates if their texts are long.',
      params: runParams,
      query: listQuery,
      responses: { 200: { description: 'A page of candidates', schema: listOf(candidateSchema) } },
      problems: [...runProblems, 'invalid_cursor', 'cursor_mismatch'],
      handle: async ({ principal, params, query: { include, ...query } }) => {
        const run = await readRun(deps, runNamed(principal, params));
        return { status: 200, body: await listCandidatesPage(deps, run, { ...query, withRows: include === 'rows' }) };
      },
    }),
    endpoint({
      ...reading,
      operationId: 'getOptimizationCandidate',
      path: `${runPath}/candidates/{candidate_id}`,
      summary: 'Get a candidate with its scores by row and its difference to the prompt',
      params: candidateParams,
      responses: { 200: { description: 'The candidate', schema: candidateDetailSchema } },
      problems: [...runProblems, 'candidate_not_found'],
      handle: async (call) => {
        const { principal, params } = call;
        const run = await readRun(deps, runNamed(principal, params));
        const candidate = await findCandidate(deps.postgres, refOf(run), params.candidate_id);
        if (candidate === undefined) throw unknownCandidate(run, params.candidate_id);
        const scores = await readScores(deps.postgres, run, [candidate]);
        const diff = await diffFromSeed(deps, run, { candidate, waiter: call });
        return { status: 200, body: { ...candidateToWire(candidate, scores.get(candidate.hash) ?? []), diff } };
      },
    }),
  ];
}

function runNamed(principal: Principal, params: { prompt_id: string; run_id: string }) {
  return { project: projectOf(principal), idOrSlug: params.prompt_id, runId: params.run_id };
}
