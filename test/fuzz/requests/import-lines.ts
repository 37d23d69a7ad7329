import fc from 'fast-check';
import type { Sizes } from '../values/hostile.ts';
import { mutated, mutatedBytes } from '../values/mutate.ts';
import { toJsonText } from '../values/raw-json.ts';

/** Lines of an export with new names, and with faulty values, lines or bytes. */
export function importText(exported: string, sizes: Sizes): fc.Arbitrary<Buffer> {
  const lines = exported.split('\n').filter((line) => line !== '');
  const renamed = fc
    .stringMatching(/^[a-z]{6}$/)
    .map((suffix) => lines.map((line) => JSON.parse(line.replaceAll('"slug":"', `"slug":"${suffix}-`)) as unknown));
  const changed = renamed.chain((records) =>
    fc
      .nat({ max: records.length - 1 })
      .chain((at) =>
        mutated(fc.constant(records[at]), sizes).map((record) =>
          records.map((each, index) => (index === at ? record : each)),
        ),
      ),
  );
  const text = fc
    .oneof({ arbitrary: renamed, weight: 1 }, { arbitrary: changed, weight: 6 })
    .map((records) => records.map(toJsonText));
  const order = fc.oneof(
    { arbitrary: fc.constant(asIs), weight: 9 },
    { arbitrary: fc.constantFrom(...orders), weight: 3 },
  );
  const ordered = fc.tuple(text, order).map(([each, inOrder]) => inOrder(each));
  const bytes = ordered.map((each) => Buffer.from(each.join('\n')));
  const blank = fc.integer({ min: 1, max: sizes.textCharsMax }).map((length) => Buffer.alloc(length, '\n'));
  return fc.oneof(
    { arbitrary: bytes, weight: 12 },
    { arbitrary: bytes.chain(mutatedBytes), weight: 3 },
    { arbitrary: blank, weight: 1 },
  );
}

type Order = (lines: string[]) => string[];

const asIs: Order = (lines) => lines;
const orders: readonly Order[] = [
  (lines) => lines.toReversed(),
  (lines) => [...lines, ...lines],
  (lines) => lines.filter((_, at) => at % 2 === 0),
];
