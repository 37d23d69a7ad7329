import { createHash } from 'node:crypto';
import type { Postgres } from '../../stores/postgres/client.ts';
import { inTransaction } from '../../stores/postgres/transaction.ts';
import { type AuditActor, recordAudit } from '../audit/index.ts';
import type { ProjectScope } from '../workspaces/index.ts';
import type { ModelPrice, ModelPriceList } from './model-price.ts';
import { lockModelPrices, replaceModelPrices } from './model-price-store.ts';

/**
 * Replaces all own prices of the project and records this in the audit log.
 * @throws UnavailableError while Postgres is unavailable
 */
export async function putModelPrices(
  { postgres }: { postgres: Postgres },
  { project, prices, actor }: { project: ProjectScope; prices: ModelPrice[]; actor: AuditActor },
): Promise<ModelPriceList> {
  const list = { prices, updatedAt: new Date() };
  await inTransaction(postgres, async (transaction) => {
    const before = await lockModelPrices(transaction, project.projectId);
    await replaceModelPrices(transaction, project.projectId, list);
    await recordAudit(transaction, {
      workspaceId: project.workspaceId,
      projectId: project.projectId,
      actor,
      action: 'model_prices.replaced',
      targetType: 'project',
      targetId: project.projectId,
      details: { before: digestOf(before?.prices ?? []), after: digestOf(prices) },
    });
  });
  return list;
}

/**
 * Returns the number of prices and a hash that distinguishes two lists. Up to a thousand prices,
 * before and after, would be too long for the audit log.
 */
function digestOf(prices: readonly ModelPrice[]): { prices: number; sha256: string } {
  return { prices: prices.length, sha256: createHash('sha256').update(JSON.stringify(prices)).digest('hex') };
}
