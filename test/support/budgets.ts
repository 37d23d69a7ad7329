import type { z } from 'zod';
import { BudgetGuard, type BudgetGuardDeps } from '../../src/domains/budgets/budget-guard.ts';
import type { budgetSchema } from '../../src/domains/budgets/budgets.schema.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import type { ProjectOfTest, TestApi } from './api.ts';
import type { SpanInput } from './otlp-encode.ts';
import { aModelCall } from './spans.ts';

export type BudgetWire = z.infer<typeof budgetSchema>;

export const aBudget = { amount: '10', currency: 'USD', period: 'monthly' };

export function getBudget(api: TestApi, project: ProjectOfTest, headers: Record<string, string> = {}) {
  return api.call<BudgetWire>('getBudget', { params: { project_id: project.id }, key: project.key, headers });
}

export function putBudget(api: TestApi, project: ProjectOfTest, body: object, headers: Record<string, string> = {}) {
  return api.call<BudgetWire>('putBudget', { params: { project_id: project.id }, key: project.key, body, headers });
}

/** Returns a call with a cost in nano-USD. */
export function pricedCall(
  nano: bigint,
  { model = 'house-model', ...given }: Partial<SpanInput> & { model?: string } = {},
) {
  return aModelCall(10, 5, {
    ...given,
    attributes: { 'gen_ai.response.model': model, 'gen_ai.usage.cost': Number(nano) / 1e9, ...given.attributes },
  });
}

/** Returns the guard of a process that learns of no changes. */
export function guardOf(stores: Pick<BudgetGuardDeps, 'postgres' | 'clickhouse'>): BudgetGuard {
  const untold = { connected: false, subscribe: () => undefined, onGap: () => undefined };
  return new BudgetGuard({ ...stores, invalidations: untold, logger: createLogger({ level: 'silent', name: 'test' }) });
}
