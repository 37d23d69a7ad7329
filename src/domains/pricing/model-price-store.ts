import type { Postgres } from '../../stores/postgres/client.ts';
import type { ModelPrice, ModelPriceList } from './model-price.ts';

/** A price as stored in JSON. */
type StoredPrice = Omit<ModelPrice, 'effectiveFrom'> & { effectiveFrom: string | null };

/**
 * Returns the project's own prices, or undefined when it never had any.
 * @throws UnavailableError while Postgres is unavailable
 */
export async function findModelPrices(postgres: Postgres, projectId: string): Promise<ModelPriceList | undefined> {
  const row = await postgres('model_prices')
    .where('project_id', projectId)
    .first<{ prices: StoredPrice[]; updated_at: Date } | undefined>('prices', 'updated_at');
  return row && { prices: row.prices.map(fromStored), updatedAt: row.updated_at };
}

/**
 * Returns the version of the project's own prices, which each change replaces, and the prices unless they have the
 * version `known`; undefined when it never had any.
 * @throws UnavailableError while Postgres is unavailable
 */
export async function findChangedPrices(
  postgres: Postgres,
  projectId: string,
  known: string | undefined,
): Promise<{ version: string; list: ModelPriceList | undefined } | undefined> {
  // The version is the transaction that wrote the row. Two changes may have the same time, to the millisecond.
  const columns =
    'updated_at, xmin::text as version, case when xmin::text is distinct from ? then prices end as prices';
  const row = await postgres('model_prices')
    .where('project_id', projectId)
    .first<{ version: string; prices: StoredPrice[] | null; updated_at: Date } | undefined>(
      postgres.raw(columns, [known ?? null]),
    );
  if (row === undefined) return undefined;
  const list = row.prices === null ? undefined : { prices: row.prices.map(fromStored), updatedAt: row.updated_at };
  return { version: row.version, list };
}

/**
 * Does the same as {@link findModelPrices}, and keeps others from replacing the prices until the
 * transaction ends.
 */
export async function lockModelPrices(transaction: Postgres, projectId: string): Promise<ModelPriceList | undefined> {
  // The row of the project is locked, because a row of prices may not exist yet.
  await transaction('projects').where({ id: projectId }).forNoKeyUpdate().first('id');
  return findModelPrices(transaction, projectId);
}

/**
 * Replaces all own prices of the project.
 * @throws UnavailableError while Postgres is unavailable
 */
export async function replaceModelPrices(postgres: Postgres, projectId: string, list: ModelPriceList): Promise<void> {
  await postgres('model_prices')
    .insert({ project_id: projectId, prices: JSON.stringify(list.prices), updated_at: list.updatedAt })
    .onConflict('project_id')
    .merge();
}

function fromStored(stored: StoredPrice): ModelPrice {
  return { ...stored, effectiveFrom: stored.effectiveFrom === null ? null : new Date(stored.effectiveFrom) };
}
