import type { z } from 'zod';
import type { modelPricesSchema } from '../../src/domains/pricing/pricing.schema.ts';
import type { ProjectOfTest, TestApi } from './api.ts';

export type ModelPricesWire = z.infer<typeof modelPricesSchema>;

/** Stores prices of the project. The default of `credentials` is its key with every scope. */
export function putModelPrices(
  api: TestApi,
  project: ProjectOfTest,
  body: unknown,
  credentials: { key?: string; adminKey?: string } = { key: project.key },
) {
  return api.call<ModelPricesWire>('putModelPrices', { params: { project_id: project.id }, body, ...credentials });
}

export function getModelPrices(
  api: TestApi,
  project: ProjectOfTest,
  credentials: { key?: string; adminKey?: string } = { key: project.key },
) {
  return api.call<ModelPricesWire>('getModelPrices', { params: { project_id: project.id }, ...credentials });
}

export const aPrice = { model: 'house-model', input_per_million: '2.50', output_per_million: '10' };
