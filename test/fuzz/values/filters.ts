import fc from 'fast-check';
import { hostileText, hostileValue, type Sizes } from './hostile.ts';
import { toJsonText } from './raw-json.ts';

const fields = [
  ...[
    'name',
    'status',
    'duration_ms',
    'error_count',
    'has_error',
    'complete',
    'model',
    'tag',
    'prompt_id',
    'prompt_version',
  ],
  ...[
    'total_tokens',
    'cost',
    'session_id',
    'has_feedback',
    'attr.a',
    'attr.gen_ai.request.model',
    'attr.',
    'started_at',
    'q',
    '__proto__',
  ],
];
const operators = [
  'eq',
  'ne',
  'gt',
  'gte',
  'lt',
  'lte',
  'in',
  'nin',
  'contains',
  'starts_with',
  'exists',
  'nosuch',
  '__proto__',
];

/** Values of `filter=`: trees of conditions. Most are well-formed except for one value. */
export function filterText(sizes: Sizes): fc.Arbitrary<string> {
  const value = fc.oneof(
    {
      arbitrary: fc.constantFrom<unknown>('a', 1, true, ['a', 'b'], [1], '', 'ok', 0.5, '2024-01-01T00:00:00Z'),
      weight: 3,
    },
    { arbitrary: hostileText(sizes), weight: 3 },
    { arbitrary: hostileValue(sizes), weight: 1 },
    { arbitrary: fc.array(hostileValue(sizes), { maxLength: 5 }), weight: 1 },
  );
  const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 5, withCrossShrink: true },
      fc.record({ field: fc.constantFrom(...fields), op: fc.constantFrom(...operators), value }),
      fc.array(tie('tree'), { maxLength: 4 }).map((and) => ({ and })),
      fc.array(tie('tree'), { maxLength: 4 }).map((or) => ({ or })),
      tie('tree').map((not) => ({ not })),
    ),
  }));
  const deep = fc
    .tuple(tree, fc.integer({ min: 1, max: 600 }))
    .map(([inner, depth]) => '{"not":'.repeat(depth) + toJsonText(inner) + '}'.repeat(depth));
  const wide = fc
    .tuple(tree, fc.integer({ min: 1, max: 60 }))
    .map(([inner, width]) => `{"or":[${Array(width).fill(toJsonText(inner)).join(',')}]}`);
  const broken = tree.map((each) => toJsonText(each).slice(0, -1));
  return fc
    .oneof(
      { arbitrary: tree.map(toJsonText), weight: 8 },
      { arbitrary: deep, weight: 1 },
      { arbitrary: wide, weight: 1 },
      { arbitrary: broken, weight: 1 },
    )
    .map((text) => text.slice(0, 12_000));
}
