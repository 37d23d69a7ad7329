import fc from 'fast-check';
import { type Manner, manners } from './connections.ts';
import type { Operation } from './openapi.ts';
import { requestOf } from './requests/operation-request.ts';
import type { FuzzRequest } from './requests/request.ts';
import type { Sizes } from './values/hostile.ts';
import type { World } from './world.ts';

export interface FuzzCase {
  request: FuzzRequest;
  /** The manner of the client. Undefined if the client behaves correctly. */
  manner: Manner | undefined;
}

/** Operations with more code than the others. The others have the weight 1. */
const weights: Readonly<Record<string, number>> = {
  exportTraces: 12,
  exportLogs: 8,
  createExecution: 6,
  listExecutions: 8,
  importPrompts: 5,
  createPrompt: 5,
  updatePrompt: 4,
  renderPrompt: 6,
  validatePrompt: 5,
  createPart: 3,
  getExecution: 2,
};

/**
 * The cases of a run. The case `index` of a seed has the same values in every run, except for the
 * names of existing resources.
 */
export function createCases(
  operations: readonly Operation[],
  world: World,
  { seed, sizes }: { seed: number; sizes: Sizes },
) {
  const anyRequest = fc.oneof(
    ...operations.map((operation) => ({
      arbitrary: requestOf(operation, world, sizes),
      weight: weights[operation.operationId] ?? 1,
    })),
  );
  const manner = fc.oneof(
    { arbitrary: fc.constant(undefined), weight: 25 },
    { arbitrary: fc.constantFrom(...manners), weight: 1 },
  );
  const anyCase = fc.record({ request: anyRequest, manner });
  return {
    caseOf(index: number): FuzzCase {
      // The seed is multiplied by an odd number, so that neighboring seeds do not have the same cases.
      const [drawn] = fc.sample(anyCase, { seed: Math.imul(seed + 1, 0x9e3779b1) + index, numRuns: 1 });
      if (drawn === undefined) throw new Error('fast-check returned no value');
      return drawn;
    },
  };
}

export type Cases = ReturnType<typeof createCases>;
