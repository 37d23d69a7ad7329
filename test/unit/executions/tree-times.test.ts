import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { boundariesOf } from '../../../src/domains/executions/tree/boundaries.ts';
import { criticalPath, longestTop, type Segment } from '../../../src/domains/executions/tree/critical-path.ts';
import { findGaps } from '../../../src/domains/executions/tree/find-gaps.ts';
import { layOutLanes } from '../../../src/domains/executions/tree/lay-out-lanes.ts';
import { maxConcurrency } from '../../../src/domains/executions/tree/max-concurrency.ts';
import { placeSpans } from '../../../src/domains/executions/tree/place-spans.ts';
import { durationNano, selfTimeNano } from '../../../src/domains/executions/tree/self-time.ts';
import type { TreeSpan } from '../../../src/domains/spans/tree-span.ts';
import type { Tree, TreeNode } from '../../../src/lib/span-tree.ts';
import { anyTrace, traceTwice, treeSpans } from '../../support/tree-spans.ts';

type Node = TreeNode<TreeSpan>;

const placed = (spans: readonly TreeSpan[]): Tree<TreeSpan> => placeSpans(spans, { skew: true });
const tree = (...lines: string[]) => placed(treeSpans(...lines));
const lanesOf = (of: Tree<TreeSpan>) => layOutLanes(of, boundariesOf(of.nodes));
const concurrencyOf = (of: Tree<TreeSpan>) => maxConcurrency(boundariesOf(of.nodes));
const inMs = (nano: bigint) => Number(nano) / 1e6;

function pathOf({ tops }: Tree<TreeSpan>): Segment[] {
  const root = longestTop(tops);
  return root === undefined ? [] : criticalPath(root);
}
const shown = (path: readonly Segment[]) =>
  path.map(({ spanId, startUnixNano, endUnixNano }) => `${spanId} ${inMs(startUnixNano)}-${inMs(endUnixNano)}`);

/** The elementary intervals of a trace, each with the spans that are open in it. */
function slices({ nodes }: Tree<TreeSpan>): { startUnixNano: bigint; endUnixNano: bigint; open: Node[] }[] {
  const times = [...new Set(nodes.flatMap(({ span }) => [span.startUnixNano, span.endUnixNano]))];
  times.sort((a, b) => (a < b ? -1 : 1));
  return times.slice(1).map((end, index) => {
    const start = times[index] ?? 0n;
    const open = nodes.filter(({ span }) => span.startUnixNano <= start && span.endUnixNano >= end);
    return { startUnixNano: start, endUnixNano: end, open };
  });
}

describe('the critical path', () => {
  test('goes back through the children that finished last', () => {
    const spans = tree('r 0-100', 'a(r) 10-30', 'b(r) 20-60', 'c(r) 70-90', 'd(c) 75-80');
    expect(shown(pathOf(spans))).toEqual(['r 0-20', 'b 20-60', 'r 60-70', 'c 70-75', 'd 75-80', 'c 80-90', 'r 90-100']);
  });

  test('takes steps one right after the other', () => {
    expect(shown(pathOf(tree('r 0-30', 'a(r) 0-10', 'b(r) 10-20', 'c(r) 20-30')))).toEqual([
      'a 0-10',
      'b 10-20',
      'c 20-30',
    ]);
  });

  test('clips children to their parent and leaves out those outside', () => {
    const spans = tree(
      'r 10-50',
      'early(r) 0-20',
      'late(r) 40-90',
      'below(late) 45-80',
      'out(r) 60-70',
      'none(r) 30-30',
    );
    expect(shown(pathOf(spans))).toEqual(['early 10-20', 'r 20-40', 'late 40-45', 'below 45-50']);
  });

  test('leaves out work that a producer handed to a consumer', () => {
    const [root, sent, taken] = treeSpans('r 0-50', 'sent(r) 10-40', 'taken(sent) 15-35');
    const kinds = (otelKind: number) =>
      placed(
        [root, sent && { ...sent, otelKind: 4 }, taken && { ...taken, otelKind }].filter((span) => span !== undefined),
      );
    expect(shown(pathOf(kinds(5)))).toEqual(['r 0-10', 'sent 10-40', 'r 40-50']);
    expect(shown(pathOf(kinds(1)))).toContain('taken 15-35');
  });

  test('of several roots is that of the longest, the earlier of two; an orphan counts only without a root', () => {
    expect(shown(pathOf(tree('a 0-5', 'b 3-9', 'c 20-26', 'o(gone) 0-90')))).toEqual(['b 3-9']);
    expect(shown(pathOf(tree('o(gone) 0-5', 'p(gone) 3-9')))).toEqual(['p 3-9']);
  });

  test('of a chain and of a fan of 10,000 spans needs no stack', () => {
    const chain = Array.from({ length: 10_000 }, (_, i) =>
      i === 0 ? 's0 0-30000' : `s${i}(s${i - 1}) ${i}-${30_000 - i}`,
    );
    expect(pathOf(tree(...chain))).toHaveLength(19_999);
    const fan = Array.from({ length: 10_000 }, (_, i) => (i === 0 ? 's0 0-10000' : `s${i}(s0) ${i - 1}-${i}`));
    expect(pathOf(tree(...fan))).toHaveLength(10_000);
  });

  test('of any trace has disjoint segments in order, within their spans, that add up to the root', () => {
    fc.assert(
      fc.property(anyTrace, (spans) => {
        const of = placed(spans);
        const root = longestTop(of.tops);
        let cursor = root?.span.startUnixNano;
        for (const { spanId, startUnixNano, endUnixNano } of pathOf(of)) {
          const span = of.nodes.find((node) => node.span.spanId === spanId)?.span;
          expect(startUnixNano).toBe(cursor);
          expect(startUnixNano < endUnixNano).toBe(true);
          expect(span && span.startUnixNano <= startUnixNano && span.endUnixNano >= endUnixNano).toBe(true);
          cursor = endUnixNano;
        }
        expect(cursor).toBe(root?.span.endUnixNano);
      }),
    );
  });
});

describe('self time', () => {
  test('of any span is the time in which it is open and none of its children is', () => {
    fc.assert(
      fc.property(anyTrace, (spans) => {
        const of = placed(spans);
        const all = slices(of);
        for (const node of of.nodes) {
          const alone = all.filter(({ open }) => open.includes(node) && !open.some(({ parent }) => parent === node));
          const expected = alone.reduce((sum, slice) => sum + durationNano(slice), 0n);
          expect(selfTimeNano(node)).toBe(expected);
          expect(expected <= durationNano(node.span)).toBe(true);
        }
      }),
    );
  });
});

describe('lanes', () => {
  test('are the smallest free ones greater than that of the parent', () => {
    const of = tree('r 0-100', 'a(r) 0-50', 'b(r) 10-60', 'c(r) 50-90', 'd(c) 55-80', 'e(c) 62-70', 'q 100-110');
    const lanes = lanesOf(of);
    expect(Object.fromEntries(of.nodes.map(({ span, order }) => [span.spanId, lanes[order]]))).toEqual({
      r: 0,
      a: 1,
      b: 2,
      c: 1,
      d: 3,
      e: 2,
      q: 0,
    });
  });

  test('go to the longest of spans that begin together first', () => {
    const of = tree('r 0-9', 'a(r) 0-3', 'b(r) 0-5');
    expect(of.nodes.map(({ span, order }) => [span.spanId, lanesOf(of)[order]])).toEqual([
      ['r', 0],
      ['a', 2],
      ['b', 1],
    ]);
  });

  test('of any trace never hold two spans at once, and are greater than that of the parent', () => {
    fc.assert(
      fc.property(anyTrace, (spans) => {
        const of = placed(spans);
        const lanes = lanesOf(of);
        for (const { parent, order } of of.nodes) {
          expect(lanes[order]).toBeGreaterThan(parent === undefined ? -1 : Number(lanes[parent.order]));
        }
        for (const { open } of slices(of)) {
          const taken = open.map(({ order }) => lanes[order]);
          expect(new Set(taken).size).toBe(taken.length);
        }
      }),
    );
  });

  test('are the smallest possible where every child begins after its parent', () => {
    fc.assert(
      fc.property(anyTrace, (spans) => {
        const of = placed(spans);
        fc.pre(of.nodes.every(({ span, parent }) => !parent || parent.span.startUnixNano <= span.startUnixNano));
        expect(lanesOf(of)).toEqual(greedyLanes(of));
      }),
    );
  });
});

/** The rule as it is written, in no hurry; of two spans that begin and end together the parent goes first. */
function greedyLanes({ nodes }: Tree<TreeSpan>): number[] {
  const lanes: number[] = [];
  const queue = nodes.toSorted(({ span: a }, { span: b }) => {
    if (a.startUnixNano !== b.startUnixNano) return a.startUnixNano < b.startUnixNano ? -1 : 1;
    if (a.endUnixNano !== b.endUnixNano) return a.endUnixNano > b.endUnixNano ? -1 : 1;
    return a.spanId < b.spanId ? -1 : 1;
  });
  const place = (node: Node): void => {
    if (lanes[node.order] !== undefined) return;
    if (node.parent) place(node.parent);
    let lane = node.parent ? Number(lanes[node.parent.order]) + 1 : 0;
    const blocked = () =>
      nodes.some(({ order, span }) => lanes[order] === lane && span.endUnixNano > node.span.startUnixNano);
    while (blocked()) lane++;
    lanes[node.order] = lane;
  };
  queue.forEach(place);
  return lanes;
}

describe('gaps', () => {
  const gapsOf = (of: Tree<TreeSpan>) =>
    findGaps(boundariesOf(of.nodes)).map(
      ({ type, ...gap }) => `${type} ${inMs(gap.startUnixNano)}-${inMs(gap.endUnixNano)}`,
    );

  test('are where nothing or only a root is open', () => {
    const of = tree('r 0-100', 'a(r) 10-30', 'b(r) 20-60', 'late(r) 110-120', 'q 130-140', 'zero(r) 80-80');
    expect(gapsOf(of)).toEqual([
      'root-only 0-10',
      'root-only 60-100',
      'dead 100-110',
      'dead 120-130',
      'root-only 130-140',
    ]);
  });

  test('of a trace without a root are dead; an orphan covers its time', () => {
    expect(gapsOf(tree('o(gone) 0-10', 'p(gone) 20-30'))).toEqual(['dead 10-20']);
  });

  test.each([
    ['1 ms', ['r 0-100', 'a(r) 0-50', 'b(r) 51-100'], ['root-only 50-51']],
    ['0.5 %', ['r 0-1000', 'a(r) 0-50', 'b(r) 54-900', 'c(r) 905-1000'], ['root-only 900-905']],
  ])('are at least %s long', (_, lines, expected) => {
    expect(gapsOf(tree(...lines))).toEqual(expected);
  });

  test('under 1 ms are none', () => {
    const [root, child] = treeSpans('r 0-2', 'a(r) 0-1');
    if (root === undefined || child === undefined) throw new Error('No spans');
    const gap = (nano: bigint) => gapsOf(placed([root, { ...child, endUnixNano: root.endUnixNano - nano }]));
    expect([gap(999_999n), gap(1_000_000n)]).toEqual([[], ['root-only 1-2']]);
  });

  test('of any trace are what no other span covers, in the longest pieces', () => {
    const wide = anyTrace.map((spans) =>
      spans.map((span) => ({
        ...span,
        startUnixNano: span.startUnixNano * 10_000_000n,
        endUnixNano: span.endUnixNano * 10_000_000n,
      })),
    );
    fc.assert(
      fc.property(wide, (spans) => {
        const of = placed(spans);
        const expected: string[] = [];
        const whole = slices(of).reduce((sum, slice) => sum + durationNano(slice), 0n);
        let last: { type: string; start: bigint; end: bigint } | undefined;
        const close = () => {
          if (last && (last.end - last.start) * 200n >= whole)
            expected.push(`${last.type} ${inMs(last.start)}-${inMs(last.end)}`);
        };
        for (const { startUnixNano: start, endUnixNano: end, open } of slices(of)) {
          const type =
            open.length === 0 ? 'dead' : open.every(({ parentLink }) => parentLink === 'root') ? 'root-only' : '';
          if (last?.type === type) last.end = end;
          else {
            if (last?.type) close();
            last = { type, start, end };
          }
        }
        if (last?.type) close();
        expect(gapsOf(of)).toEqual(expected);
      }),
    );
  });
});

describe('concurrency', () => {
  test.each([
    ['counts open spans, not those that wait for a child', ['r 0-100', 'a(r) 10-50', 'b(r) 20-60', 'c(b) 30-40'], 2],
    ['of steps one after the other is 1', ['r 0-30', 'a(r) 0-10', 'b(r) 10-20', 'c(r) 20-30'], 1],
    ['counts a child that outlives its parent', ['r 0-10', 'a(r) 5-30', 'b(r) 6-40'], 2],
    ['of a single span without duration is 1', ['r 5-5'], 1],
    ['of spans without duration at one instant is all of them', ['r 0-9', 'a(r) 5-5', 'b(r) 5-5', 'c(r) 5-5'], 3],
    ['of two roots is 2', ['a 0-10', 'b 5-15'], 2],
  ])('%s', (_, lines, expected) => {
    expect(concurrencyOf(tree(...lines))).toBe(expected);
  });

  test('of any trace is that of its busiest instant', () => {
    fc.assert(
      fc.property(anyTrace, (spans) => {
        const of = placed(spans);
        const isWorking = (open: readonly Node[]) => (node: Node) => !open.some(({ parent }) => parent === node);
        const atInstants = of.nodes.map(({ span: { startUnixNano: now } }) =>
          of.nodes.filter(
            ({ span }) => span.startUnixNano <= now && (span.endUnixNano > now || span.startUnixNano === now),
          ),
        );
        const busiest = Math.max(...atInstants.map((open) => open.filter(isWorking(open)).length));
        expect(concurrencyOf(of)).toBe(busiest);
      }),
    );
  });
});

test('lanes, gaps and path are the same in any order of the spans', () => {
  const all = (spans: readonly TreeSpan[]) => {
    const of = placed(spans);
    return [lanesOf(of), findGaps(boundariesOf(of.nodes)), pathOf(of), concurrencyOf(of)];
  };
  fc.assert(
    fc.property(traceTwice, ([spans, shuffled]) => {
      expect(all(shuffled)).toEqual(all(spans));
    }),
  );
});
