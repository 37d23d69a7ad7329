import fc from 'fast-check';
import type { Execution } from '../../src/domains/summaries/index.ts';

export type Leaf = { field: string; op: string; value: unknown };
export type Tree = { and: Tree[] } | { or: Tree[] } | { not: Tree } | Leaf;

type Scalar = string | number | boolean | null;

/**
 * The values of an execution by field, written independently of the product: a list if the field
 * has several values, and null if it has none.
 */
const readers: Readonly<Record<string, (execution: Execution) => Scalar | Scalar[]>> = {
  name: ({ name }) => name || null,
  status: ({ status }) => status,
  duration_ms: (e) => Number(e.endUnixNano - e.startUnixNano) / 1e6,
  error_count: ({ errorCount }) => errorCount,
  has_error: ({ status, errorCount }) => status === 'error' || errorCount > 0,
  complete: ({ complete }) => complete,
  model: ({ models }) => [...models],
  tag: ({ tags }) => [...tags],
  prompt_id: ({ prompts }) => prompts.map(({ id }) => id),
  prompt_version: ({ prompts }) => prompts.map(({ version }) => version),
  total_tokens: ({ usage }) => usage.totalTokens,
  cost: ({ costNanoUsd }) => (costNanoUsd === null ? null : Number(costNanoUsd) / 1e9),
  session_id: ({ sessionId }) => sessionId || null,
  has_feedback: () => false,
};

const texts = ['a', 'b', 'ab', "it's", '100%_\\', 'é\n'];
const numbers = [0, 1, 2, 3];
const valuesOf: Readonly<Record<string, readonly Scalar[]>> = {
  name: texts,
  status: ['ok', 'error', 'unset'],
  duration_ms: [0, 0.5, 1, 1.5],
  error_count: numbers,
  has_error: [true, false],
  complete: [true, false],
  model: texts,
  tag: texts,
  prompt_id: texts,
  prompt_version: [1, 2, 3],
  total_tokens: numbers,
  cost: [0, 0.000000001, 1, 2.5],
  session_id: texts,
  has_feedback: [true, false],
};

const textOps = ['eq', 'ne', 'in', 'nin', 'contains', 'starts_with', 'exists'];
const orderOps = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'nin', 'exists'];
const plainOps = ['eq', 'ne', 'in', 'nin', 'exists'];
const opsOf: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(['name', 'model', 'tag', 'session_id'].map((name) => [name, textOps])),
  ...Object.fromEntries(['duration_ms', 'error_count', 'total_tokens', 'cost'].map((name) => [name, orderOps])),
};

const leaf: fc.Arbitrary<Tree> = fc.constantFrom(...Object.keys(readers)).chain((field) => {
  const value = fc.constantFrom(...(valuesOf[field] ?? []));
  return fc.constantFrom(...(opsOf[field] ?? plainOps)).chain((op) => {
    const given =
      op === 'exists' ? fc.boolean() : /^n?in$/.test(op) ? fc.array(value, { minLength: 1, maxLength: 3 }) : value;
    return given.map((value): Tree => ({ field, op, value }));
  });
});

/** Valid filters with a few levels and all types of fields. */
export const anyTree: fc.Arbitrary<Tree> = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    leaf,
    fc.array(tie('tree'), { maxLength: 3 }).map((and): Tree => ({ and })),
    fc.array(tie('tree'), { maxLength: 3 }).map((or): Tree => ({ or })),
    tie('tree').map((not): Tree => ({ not })),
  ),
})).tree;

/** Returns whether an execution matches a filter, according to the text of the contract only. */
export function satisfies(execution: Execution, tree: Tree): boolean {
  if ('and' in tree) return tree.and.every((part) => satisfies(execution, part));
  if ('or' in tree) return tree.or.some((part) => satisfies(execution, part));
  if ('not' in tree) return !satisfies(execution, tree.not);
  const answer = readers[tree.field]?.(execution) ?? null;
  const present = [answer].flat().filter((one) => one !== null);
  return tests[tree.op]?.(present, tree.value) ?? false;
}

const some = (test: (one: Scalar, value: never) => boolean) => (present: Scalar[], value: unknown) =>
  present.some((one) => test(one, value as never));

const tests: Readonly<Record<string, (present: Scalar[], value: unknown) => boolean>> = {
  eq: (present, value) => present.some((one) => one === value),
  ne: (present, value) => !present.some((one) => one === value),
  in: (present, value) => present.some((one) => [value].flat().includes(one)),
  nin: (present, value) => !present.some((one) => [value].flat().includes(one)),
  exists: (present, value) => present.length > 0 === value,
  gt: some((one, value) => Number(one) > value),
  gte: some((one, value) => Number(one) >= value),
  lt: some((one, value) => Number(one) < value),
  lte: some((one, value) => Number(one) <= value),
  contains: some((one, value) => String(one).includes(value)),
  starts_with: some((one, value) => String(one).startsWith(value)),
};

/** Executions with the values that {@link anyTree} uses. */
export const anyFacts: fc.Arbitrary<Partial<Execution>> = fc.record({
  name: fc.constantFrom('', ...texts),
  status: fc.constantFrom('ok' as const, 'error' as const, 'unset' as const),
  errorCount: fc.constantFrom(...numbers),
  complete: fc.boolean(),
  models: fc.subarray(texts),
  tags: fc.subarray(texts),
  prompts: fc.array(
    fc.record({
      id: fc.constantFrom(...texts),
      name: fc.constant('p'),
      version: fc.integer({ min: 1, max: 3 }),
      key: fc.constant(''),
      calls: fc.constant(1),
    }),
    {
      maxLength: 2,
    },
  ),
  costNanoUsd: fc.constantFrom(null, 0n, 1n, 1_000_000_000n, 2_500_000_000n),
  sessionId: fc.constantFrom('', ...texts),
});
