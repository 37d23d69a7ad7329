import { z } from 'zod';
import { endpointsFor } from '../../http/endpoint.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { type Principal, projectOf } from '../auth/index.ts';
import type { PromptContent } from '../prompts/index.ts';
import type { TemplateThreads } from '../templates/index.ts';
import { type ItemCache, projectParams } from '../versioned/index.ts';
import { pagePolicy } from './report/page.ts';
import { readReport } from './report/read-report.ts';
import { renderReport } from './report/render-report.ts';

export interface ReportDeps {
  postgres: Postgres;
  prompts: Pick<ItemCache<PromptContent>, 'read'>;
  threads: TemplateThreads;
}

const { endpoint } = endpointsFor<Principal>();

/** Returns the endpoint of the report of a run. */
export function reportEndpoints({ postgres, prompts, threads }: ReportDeps) {
  return [
    endpoint({
      operationId: 'getOptimizationReport',
      method: 'GET',
      path: '/api/projects/{project_id}/prompts/{prompt_id}/optimization-runs/{run_id}/report',
      summary: 'Get the report of an optimization run as a web page',
      description:
        'The page loads nothing and runs no script, so it can be kept as a file. It shows the scores with their confidence ' +
        'intervals, the changes of the prompt, the worst rows, the curve of the search, and the candidates.',
      tag: 'optimization',
      access: { scope: 'prompts:read' },
      rateClass: 'analytics',
      params: projectParams.extend({ prompt_id: z.string().min(1).max(100), run_id: z.string().min(1).max(64) }),
      responses: { 200: { description: 'HTML', contentType: 'text/html', example: '<!doctype html>' } },
      problems: [
        ...(['project_not_found', 'prompt_not_found', 'run_not_found', 'template_limit'] as const),
        ...(['workspace_busy', 'server_busy'] as const),
      ],
      handle: async (call) => {
        const { principal, params } = call;
        const project = projectOf(principal);
        const item = await prompts.read(project, params.prompt_id);
        const report = await readReport(
          { postgres, threads: threads.of(project.workspaceId, call) },
          { projectId: project.projectId, promptId: item.id, id: params.run_id },
        );
        return {
          status: 200,
          contentType: 'text/html; charset=utf-8',
          content: Buffer.from(renderReport({ ...report, promptName: item.name })),
          headers: { 'Content-Security-Policy': pagePolicy, 'Cache-Control': 'private, no-store' },
        };
      },
    }),
  ];
}
