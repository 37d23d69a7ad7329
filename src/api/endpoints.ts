import { analyticsEndpoints } from '../domains/analytics/analytics.routes.ts';
import { apiKeysEndpoints } from '../domains/api-keys/api-keys.routes.ts';
import { auditEndpoints } from '../domains/audit/audit.routes.ts';
import { authEndpoints } from '../domains/auth/auth.routes.ts';
import { callerOf, type Principal } from '../domains/auth/index.ts';
import { budgetsEndpoints } from '../domains/budgets/budgets.routes.ts';
import { executionsEndpoints } from '../domains/executions/executions.routes.ts';
import { feedbackEndpoints } from '../domains/feedback/feedback.routes.ts';
import { identityEndpoints } from '../domains/identity/identity.routes.ts';
import { ingestionEndpoints } from '../domains/ingestion/ingestion.routes.ts';
import { operationsEndpoints } from '../domains/operations/operations.routes.ts';
import { optimizationEndpoints } from '../domains/optimization/optimization.routes.ts';
import { partsEndpoints } from '../domains/parts/parts.routes.ts';
import { pricingEndpoints } from '../domains/pricing/pricing.routes.ts';
import { promptsEndpoints } from '../domains/prompts/prompts.routes.ts';
import { quotasEndpoints } from '../domains/quotas/quotas.routes.ts';
import { renderingEndpoints } from '../domains/rendering/rendering.routes.ts';
import { webhooksEndpoints } from '../domains/webhooks/webhooks.routes.ts';
import { workspacesEndpoints } from '../domains/workspaces/workspaces.routes.ts';
import type { Endpoint } from '../http/endpoint.ts';

/** The dependencies of each domain's endpoints. */
export interface EndpointDeps {
  analytics: Parameters<typeof analyticsEndpoints>[0];
  apiKeys: Parameters<typeof apiKeysEndpoints>[0];
  audit: Parameters<typeof auditEndpoints>[0];
  auth: Parameters<typeof authEndpoints>[0];
  budgets: Parameters<typeof budgetsEndpoints>[0];
  executions: Parameters<typeof executionsEndpoints>[0];
  feedback: Parameters<typeof feedbackEndpoints>[0];
  identity: Parameters<typeof identityEndpoints>[0];
  ingestion: Parameters<typeof ingestionEndpoints>[0];
  operations: Parameters<typeof operationsEndpoints>[0];
  optimization: Parameters<typeof optimizationEndpoints>[0];
  parts: Parameters<typeof partsEndpoints>[0];
  pricing: Parameters<typeof pricingEndpoints>[0];
  prompts: Parameters<typeof promptsEndpoints>[0];
  quotas: Parameters<typeof quotasEndpoints>[0];
  rendering: Parameters<typeof renderingEndpoints>[0];
  webhooks: Parameters<typeof webhooksEndpoints>[0];
  workspaces: Omit<Parameters<typeof workspacesEndpoints<Principal>>[0], 'callerOf'>;
}

/** Returns every endpoint of the API. No other endpoints exist. */
export function createEndpoints(deps: EndpointDeps): Endpoint<Principal>[] {
  return [
    ...authEndpoints(deps.auth),
    ...workspacesEndpoints<Principal>({ ...deps.workspaces, callerOf }),
    ...quotasEndpoints(deps.quotas),
    ...auditEndpoints(deps.audit),
    ...apiKeysEndpoints(deps.apiKeys),
    ...partsEndpoints(deps.parts),
    ...promptsEndpoints(deps.prompts),
    ...executionsEndpoints(deps.executions),
    ...analyticsEndpoints(deps.analytics),
    ...budgetsEndpoints(deps.budgets),
    ...pricingEndpoints(deps.pricing),
    ...renderingEndpoints(deps.rendering),
    ...ingestionEndpoints(deps.ingestion),
    ...feedbackEndpoints(deps.feedback),
    ...optimizationEndpoints(deps.optimization),
    ...identityEndpoints(deps.identity),
    ...webhooksEndpoints(deps.webhooks),
    ...operationsEndpoints(deps.operations),
  ];
}
