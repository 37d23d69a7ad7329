import { z } from 'zod';
import { endpointsFor } from '../../http/endpoint.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { auditActorOf, type Principal, projectOf } from '../auth/index.ts';
import { findModelPrices } from './model-price-store.ts';
import { modelPricesBody, modelPricesSchema, modelPricesToWire } from './pricing.schema.ts';
import { putModelPrices } from './put-model-prices.ts';

const { endpoint } = endpointsFor<Principal>();

/** Returns the endpoints that read and replace a project's own model prices. */
export function pricingEndpoints(deps: { postgres: Postgres }) {
  const common = {
    path: '/api/projects/{project_id}/model-prices',
    tag: 'pricing',
    params: z.strictObject({ project_id: z.string() }),
    responses: { 200: { description: 'All model prices of the project', schema: modelPricesSchema } },
  } as const;
  return [
    endpoint({
      ...common,
      operationId: 'getModelPrices',
      method: 'GET',
      summary: 'Get the model prices of a project',
      access: { scope: 'budgets:read' },
      rateClass: 'read',
      handle: async ({ params }) => {
        const list = await findModelPrices(deps.postgres, params.project_id);
        return { status: 200, body: modelPricesToWire(list) };
      },
    }),
    endpoint({
      ...common,
      operationId: 'putModelPrices',
      method: 'PUT',
      summary: 'Replace the model prices of a project',
      description:
        'They take precedence over the price table, for spans that arrive about two seconds later or after that. ' +
        'Stored costs do not change.',
      access: { scope: 'budgets:write' },
      rateClass: 'write',
      body: modelPricesBody,
      handle: async ({ body, principal, requestId }) => {
        const actor = auditActorOf(principal, requestId);
        const list = await putModelPrices(deps, { project: projectOf(principal), prices: body, actor });
        return { status: 200, body: modelPricesToWire(list) };
      },
    }),
  ];
}
