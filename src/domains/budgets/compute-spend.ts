import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { Budget, Period } from './budget.ts';
import { findPromptIds } from './budget-store.ts';
import { readSpend, type Spend } from './spend-queries.ts';

/**
 * Computes the spend of a budget in a period, exact.
 * @throws UnavailableError while a store is unavailable
 */
export async function computeSpend(
  { clickhouse, postgres }: { clickhouse: ClickHouse; postgres: Postgres },
  { projectId, scopes }: Pick<Budget, 'projectId' | 'scopes'>,
  { period, days }: { period: Period; days?: readonly number[] },
): Promise<Spend> {
  const slugs = scopes.flatMap(({ by, value }) => (by === 'prompt' ? [value] : []));
  const ids = await findPromptIds(postgres, projectId, slugs);
  const read = scopes.map(({ by, value }) => ({ by, value, promptId: by === 'prompt' ? ids.get(value) : undefined }));
  return readSpend(clickhouse, { projectId, period, scopes: read, ...(days === undefined ? {} : { days }) });
}
