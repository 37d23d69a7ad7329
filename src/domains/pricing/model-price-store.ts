import type { Postgres } from '../../stores/postgres/client.ts';
import { runPostgres } from '../../stores/postgres/errors.ts';
import type { ModelPrice, ModelPriceList } from './model-price.ts';

/** A price as JSON keeps it. */
type StoredPrice = Omit<ModelPrice, 'effectiveFrom'> & { effectiveFrom: string | null };

/** A project's own prices, or undefined when it never had any. */
export async function findModelPrices(postgres: Postgres, projectId: string): Promise<ModelPriceList | undefined> {
  const row = await runPostgres(() =>
    postgres('model_prices')
      .where('project_id', projectId)
      .first<{ prices: StoredPrice[]; updated_at: Date } | undefined>('prices', 'updated_at'),
  );
  return row && { prices: row.prices.map(fromStored), updatedAt: row.updated_at };
}

/** As {@link findModelPrices}, and nobody else replaces them until the transaction ends. */
export async function lockModelPrices(transaction: Postgres, projectId: string): Promise<ModelPriceList | undefined> {
  // The row of the project is the lock, because there may be none of prices yet.
  await transaction('projects').where({ id: projectId }).forUpdate().first('id');
  return findModelPrices(transaction, projectId);
}

/** Puts `list` in the place of all own prices that the project had. */
export async function replaceModelPrices(postgres: Postgres, projectId: string, list: ModelPriceList): Promise<void> {
  await runPostgres(() =>
    postgres('model_prices')
      .insert({ project_id: projectId, prices: JSON.stringify(list.prices), updated_at: list.updatedAt })
      .onConflict('project_id')
      .merge(),
  );
}

function fromStored(stored: StoredPrice): ModelPrice {
  return { ...stored, effectiveFrom: stored.effectiveFrom === null ? null : new Date(stored.effectiveFrom) };
}
