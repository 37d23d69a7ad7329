import { z } from 'zod';
import { endpointsFor, type Headers } from '../../http/endpoint.ts';
import { formatEtag } from '../../http/etag.ts';
import { auditActorOf, type Principal, projectOf } from '../auth/index.ts';
import { budgetTag } from './budget.ts';
import { budgetBody, budgetSchema } from './budgets.schema.ts';
import { type GetBudgetDeps, getBudget, type ReadBudget } from './get-budget.ts';
import { type PutBudgetDeps, putBudget } from './put-budget.ts';
import { replaceBudget } from './replace-budget.ts';

const { endpoint } = endpointsFor<Principal>();

/** Creates the endpoints that read, replace and delete the budget of a project. */
export function budgetsEndpoints(deps: GetBudgetDeps & PutBudgetDeps) {
  const common = {
    path: '/api/projects/{project_id}/budget',
    tag: 'budgets',
    params: z.strictObject({ project_id: z.string() }),
    conditional: 'writes',
  } as const;
  const responses = { 200: { description: 'The budget with its spend', schema: budgetSchema } } as const;
  const answerOf = ({ budget, wire }: ReadBudget) => {
    // As a header, so that no GET is 304: spend changes without a new version of the budget.
    const headers: Headers = budget === undefined ? {} : { ETag: formatEtag(budgetTag(budget)) };
    return { status: 200, body: wire, headers } as const;
  };
  return [
    endpoint({
      ...common,
      responses,
      operationId: 'getBudget',
      method: 'GET',
      summary: 'Get the budget of a project and what was spent of it',
      description:
        'The spend is the known cost of the model calls that started in the period, exact, with late spans. Without a budget, `amount` ' +
        'is null and the spend is that of the current month (UTC).',
      access: { scope: 'budgets:read' },
      rateClass: 'analytics',
      problems: ['project_not_found', 'clickhouse_unavailable', 'query_timeout'],
      handle: async ({ principal, signal }) => answerOf(await getBudget(deps, { ...projectOf(principal), signal })),
    }),
    endpoint({
      ...common,
      responses,
      operationId: 'putBudget',
      method: 'PUT',
      summary: 'Replace the budget of a project',
      description:
        'Every PUT is a new version, whose thresholds can be reached again. It is in force within a second. The spend is read first: ' +
        'if it cannot be read, nothing is stored.',
      access: { scope: 'budgets:write' },
      rateClass: 'write',
      body: budgetBody,
      problems: ['project_not_found', 'precondition_failed', 'clickhouse_unavailable', 'query_timeout'],
      handle: async ({ principal, body, requestId, ifMatch, signal, recheck }) => {
        const actor = auditActorOf(principal, requestId);
        const change = { project: projectOf(principal), actor, ifMatch, input: body };
        return answerOf(await replaceBudget(deps, { ...change, signal, recheck }));
      },
    }),
    endpoint({
      ...common,
      operationId: 'deleteBudget',
      method: 'DELETE',
      summary: 'Delete the budget of a project',
      access: { scope: 'budgets:write' },
      rateClass: 'write',
      responses: { 204: { description: 'The project has no budget' } },
      problems: ['project_not_found', 'precondition_failed'],
      handle: async ({ principal, requestId, ifMatch }) => {
        const actor = auditActorOf(principal, requestId);
        await putBudget(deps, { project: projectOf(principal), actor, ifMatch, input: undefined });
        return { status: 204 };
      },
    }),
  ];
}
