import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { TreeSpan } from '../../../src/domains/spans/tree-span.ts';
import { buildTree, compareStarts } from '../../../src/lib/span-tree.ts';
import { anyTrace, traceTwice, treeSpans } from '../../support/tree-spans.ts';

/** `id@depth`, in order, with its parent link unless it is a child. */
function outline(spans: readonly TreeSpan[]): string[] {
  return buildTree(spans).nodes.map(
    ({ span, depth, parentLink }) => `${span.spanId}@${depth}${parentLink === 'child' ? '' : ` ${parentLink}`}`,
  );
}

describe('the tree of a trace', () => {
  test('has roots by start, then the other tops by start, and siblings by start and id', () => {
    const spans = treeSpans('z(r) 1-2', 'y(r) 1-9', 'x(r) 0-3', 'r 5-9', 'q 2-3', 'o2(gone) 1-2', 'o1(lost) 0-1');
    expect(outline(spans)).toEqual(['q@0 root', 'r@0 root', 'x@1', 'y@1', 'z@1', 'o1@0 orphan', 'o2@0 orphan']);
  });

  test('is cut where a cycle begins earliest, wherever it is entered', () => {
    const spans = treeSpans('leaf(b) 0-1', 'a(c) 4-5', 'b(a) 3-9', 'c(b) 2-9', 'r 0-9');
    expect(outline(spans)).toEqual(['r@0 root', 'c@0 cut', 'a@1', 'b@2', 'leaf@3']);
  });

  test('is cut at a span that names itself', () => {
    expect(outline(treeSpans('a(a) 0-1', 'b(a) 0-1'))).toEqual(['a@0 cut', 'b@1']);
  });

  test('of a chain and of a fan of 10,000 spans needs no stack', () => {
    const chain = Array.from({ length: 10_000 }, (_, i) => (i === 0 ? 's0 0-1' : `s${i}(s${i - 1}) 0-1`));
    expect(buildTree(treeSpans(...chain)).nodes.at(-1)).toMatchObject({ depth: 9_999, order: 9_999 });
    const fan = Array.from({ length: 10_000 }, (_, i) => (i === 0 ? 's0 0-1' : `s${i}(s0) 0-1`));
    expect(buildTree(treeSpans(...fan)).nodes[0]?.children).toHaveLength(9_999);
  });

  test('of any spans holds each once, below its parent, the same in any order', () => {
    fc.assert(
      fc.property(traceTwice, ([spans, shuffled]) => {
        const { nodes, tops } = buildTree(spans);
        expect(nodes.map(({ span }) => span.spanId).sort()).toEqual(spans.map(({ spanId }) => spanId).sort());
        expect(outline(shuffled)).toEqual(outline(spans));
        nodes.forEach((node, index) => {
          expect(node.order).toBe(index);
          if (node.parent)
            expect([node.parent.span.spanId, node.parent.order < index]).toEqual([node.span.parentSpanId, true]);
          else expect(tops).toContain(node);
          expect(node.children).toEqual(node.children.toSorted((a, b) => compareStarts(a.span, b.span)));
        });
      }),
    );
  });

  test('of any spans is cut only on cycles, once each, at their earliest span', () => {
    fc.assert(
      fc.property(anyTrace, (spans) => {
        const cut = buildTree(spans).nodes.filter(({ parentLink }) => parentLink === 'cut');
        expect(cut.map(({ span }) => span.spanId).sort()).toEqual(earliestOfCycles(spans).sort());
      }),
    );
  });
});

function earliestOfCycles(spans: readonly TreeSpan[]): string[] {
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  const cycleOf = (start: TreeSpan): TreeSpan[] => {
    const path = [start];
    for (;;) {
      const next = byId.get(path.at(-1)?.parentSpanId ?? '');
      if (next === undefined || (next !== start && path.includes(next))) return [];
      if (next === start) return path;
      path.push(next);
    }
  };
  return [...new Set(spans.flatMap((span) => cycleOf(span).sort(compareStarts)[0]?.spanId ?? []))];
}
