import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { buildHierarchy, flatten, nest } from '../../../src/domains/executions/build-hierarchy.ts';
import { costToWire, usageToWire } from '../../../src/domains/executions/executions.schema.ts';
import type { FlatNode, NestedNode } from '../../../src/domains/executions/hierarchy.schema.ts';
import { placeSpans } from '../../../src/domains/executions/tree/place-spans.ts';
import type { TreeSpan } from '../../../src/domains/spans/tree-span.ts';
import { knownCost, sumUsage } from '../../../src/domains/summaries/count-usage.ts';
import { anyTrace, capturedTraces, traceTwice, treeSpan, treeSpans } from '../../support/tree-spans.ts';

const items = (spans: readonly TreeSpan[]) => buildHierarchy(placeSpans(spans, { skew: true }));
const flat = (spans: readonly TreeSpan[]) => flatten(items(spans));
const nested = (spans: readonly TreeSpan[]) => nest(items(spans));

/** `a(b(c) d)`: what is inside what. */
function shape(nodes: readonly NestedNode[]): string {
  return nodes
    .map(({ span_id, children }) => span_id + (children.length === 0 ? '' : `(${shape(children)})`))
    .join(' ');
}

describe('the hierarchy of a trace', () => {
  test('nests spans below their parents and orphans below a node for each missing parent', () => {
    const spans = treeSpans(
      'r 5-90',
      'a(r) 6-9',
      'o1(gone) 3-4',
      'p(lost) 2-4',
      'o2(gone) 1-8',
      'q(o1) 1-2',
      'c(c) 2-3',
    );
    expect(shape(nested(spans))).toBe('r(a) gone(o2 o1(q)) c lost(p)');
    const byId = new Map(flat(spans).map((node) => [node.span_id, node]));
    expect(byId.get('gone')).toMatchObject({
      synthetic: true,
      orphan: false,
      depth: 0,
      parent_span_id: null,
      name: null,
    });
    expect(byId.get('gone')?.totals).toMatchObject({ span_count: 3, duration_ms: 7 });
    expect(byId.get('o1')).toMatchObject({ synthetic: false, orphan: true, depth: 1, parent_span_id: 'gone' });
    expect(byId.get('q')).toMatchObject({ orphan: false, depth: 2 });
    expect(byId.get('c')).toMatchObject({ orphan: false, depth: 0, parent_span_id: null });
  });

  test('in flat form is depth first and names children and parents', () => {
    const nodes = flat(treeSpans('r 0-9', 'b(r) 2-3', 'a(r) 1-3', 'c(a) 1-2', 'o(gone) 0-1'));
    expect(nodes.map(({ span_id, child_ids, parent_index }) => [span_id, child_ids, parent_index])).toEqual([
      ['r', ['a', 'b'], null],
      ['a', ['c'], 0],
      ['c', [], 1],
      ['b', [], 0],
      ['gone', ['o'], null],
      ['o', [], 4],
    ]);
  });

  test('counts errors, and leaves out of every subtree what an agent repeats', () => {
    const usage = (inputTokens: number) => ({
      inputTokens,
      outputTokens: 0,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      reasoningTokens: 0,
      totalTokens: inputTokens,
    });
    const spans = [
      treeSpan({ spanId: 'agent', kind: 'agent', usage: usage(84), costNanoUsd: 20_000n }),
      treeSpan({ spanId: 'step', parentSpanId: 'agent', kind: 'chain', usage: usage(42), status: 'error' }),
      treeSpan({ spanId: 'call', parentSpanId: 'step', kind: 'llm', usage: usage(42), costNanoUsd: 10_000n }),
      treeSpan({ spanId: 'free', parentSpanId: 'agent', kind: 'llm', usage: usage(42), status: 'error' }),
    ];
    const totals = Object.fromEntries(
      flat(spans).map(({ span_id, totals: { usage: used, ...rest } }) => [span_id, { ...rest, in: used.input_tokens }]),
    );
    const duration_ms = 0.00001;
    expect(totals).toEqual({
      agent: { span_count: 4, error_count: 2, in: 84, cost: '0.000010', unpriced_spans: 1, duration_ms },
      step: { span_count: 2, error_count: 1, in: 42, cost: '0.000010', unpriced_spans: 0, duration_ms },
      call: { span_count: 1, error_count: 0, in: 42, cost: '0.000010', unpriced_spans: 0, duration_ms },
      free: { span_count: 1, error_count: 1, in: 42, cost: null, unpriced_spans: 1, duration_ms },
    });
  });

  test('of services on several hosts measures on one clock and shows times as sent', () => {
    const [trace, orphans] = capturedTraces('otel-multiservice-skew').sort((a, b) => b.length - a.length);
    const byName = new Map(flat(trace ?? []).map((node) => [node.name, node]));
    expect(byName.get('POST /ask')?.totals).toMatchObject({ span_count: 11, duration_ms: 1_400 });
    expect(byName.get('POST agent')).toMatchObject({ self_ms: 20, skew_ms: 0 });
    expect(byName.get('POST /search')).toMatchObject({
      skew_ms: 2_000,
      self_ms: 145,
      started_at: '2026-11-20T23:39:58.620Z',
      totals: { duration_ms: 220 },
    });
    expect(shape(nested(orphans ?? []))).toMatch(/^8772af61e29298e7\(59ad6f582f1ca792\(d8b0475cf8997c1e\)\)$/);
  });

  test('of any trace holds every span once and is the same in any order of them', () => {
    fc.assert(
      fc.property(traceTwice, ([spans, shuffled]) => {
        const nodes = flat(spans);
        const own = nodes.filter(({ synthetic }) => !synthetic).map(({ span_id }) => span_id);
        expect(own.sort()).toEqual(spans.map(({ spanId }) => spanId).sort());
        expect(nested(shuffled)).toEqual(nested(spans));
        nodes.forEach(({ child_ids, totals }, index) => {
          const children = nodes.filter(({ parent_index }) => parent_index === index);
          expect(children.map(({ span_id }) => span_id)).toEqual(child_ids);
          const below = children.reduce((sum, child) => sum + child.totals.span_count, 0);
          expect(totals.span_count).toBe(below + Number(!nodes[index]?.synthetic));
        });
      }),
    );
  });

  test('of any trace gives every subtree the usage that it has as a trace of its own', () => {
    fc.assert(
      fc.property(anyTrace, (spans) => {
        const nodes = flat(spans);
        nodes.forEach((node, index) => {
          const below = new Set(subtree(nodes, index).map(({ span_id }) => span_id));
          const alone = spans
            .filter(({ spanId }) => below.has(spanId))
            .map((span) => (span.spanId === node.span_id ? { ...span, parentSpanId: '' } : span));
          const used = sumUsage(alone);
          expect(node.totals).toMatchObject({
            usage: usageToWire(used.usage),
            cost: costToWire(knownCost(used)),
            unpriced_spans: used.unpricedSpans,
          });
        });
      }),
    );
  });
});

function subtree(nodes: readonly FlatNode[], top: number): FlatNode[] {
  const inside = new Set([top]);
  return nodes.filter(({ parent_index }, index) => {
    if (index !== top && !inside.has(parent_index ?? -1)) return false;
    inside.add(index);
    return true;
  });
}
