import { endpointsFor } from '../../http/endpoint.ts';
import { type Principal, projectOf } from '../auth/index.ts';
import { reading, runParams, runPath, runProblems } from './params.schema.ts';
import type { ReadRunDeps } from './read-run.ts';
import { pagePolicy } from './report/page.ts';
import { readReport } from './report/read-report.ts';
import { renderReport } from './report/render-report.ts';

const { endpoint } = endpointsFor<Principal>();

/** Returns the endpoint of the report of a run. */
export function reportEndpoint(deps: ReadRunDeps) {
  return endpoint({
    ...reading,
    operationId: 'getOptimizationReport',
    path: `${runPath}/report`,
    summary: 'Get the report of a run as a web page',
    description:
      'The page loads nothing and runs no script, so it can be kept as a file. It shows the scores with their confidence ' +
      'intervals, the changes of the prompt, the worst rows, the curve of the search, and the candidates.',
    rateClass: 'analytics',
    params: runParams,
    responses: { 200: { description: 'HTML', contentType: 'text/html', example: '<!doctype html>' } },
    problems: runProblems,
    handle: async (call) => {
      const { principal, params } = call;
      const path = { project: projectOf(principal), idOrSlug: params.prompt_id, runId: params.run_id };
      return {
        status: 200,
        contentType: 'text/html; charset=utf-8',
        content: Buffer.from(renderReport(await readReport(deps, path, call))),
        headers: { 'Content-Security-Policy': pagePolicy, 'Cache-Control': 'private, no-store' },
      };
    },
  });
}
