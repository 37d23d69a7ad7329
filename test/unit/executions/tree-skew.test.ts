import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { correctSkew, skewNanoMax } from '../../../src/domains/executions/tree/correct-skew.ts';
import { placeSpans } from '../../../src/domains/executions/tree/place-spans.ts';
import { hostKeyOf } from '../../../src/domains/spans/span-origins.ts';
import type { TreeSpan } from '../../../src/domains/spans/tree-span.ts';
import { buildTree } from '../../../src/lib/span-tree.ts';
import { anyTrace, ms, treeSpan } from '../../support/tree-spans.ts';

const [internal, server, client, producer, consumer] = [1, 2, 3, 4, 5];

/** A call from host a, from 1,000 to 1,100 ms, and what host b says it did in answer. */
function call(child: Partial<TreeSpan>, parent: Partial<TreeSpan> = {}): TreeSpan[] {
  const times = { startUnixNano: ms(1_000), endUnixNano: ms(1_100) };
  return [
    treeSpan({ spanId: 'caller', hostKey: 'a', otelKind: client, ...times, ...parent }),
    treeSpan({ spanId: 'callee', parentSpanId: 'caller', hostKey: 'b', otelKind: server, ...child }),
  ];
}

function skewMs(spans: readonly TreeSpan[]): Record<string, number> {
  return Object.fromEntries(
    placeSpans(spans, { skew: true }).nodes.map(({ span }) => [span.spanId, Number(span.skewNano) / 1e6]),
  );
}

const early = { startUnixNano: ms(500), endUnixNano: ms(560) };

describe('clock skew', () => {
  test.each([
    ['shorter and outside is put in the middle', early, 520],
    ['just sticks out is put in the middle', { startUnixNano: ms(1_050), endUnixNano: ms(1_101) }, -25.5],
    ['lies inside stays', { startUnixNano: ms(1_000), endUnixNano: ms(1_100) }, 0],
    ['lasts longer and begins earlier begins with its caller', { startUnixNano: ms(900), endUnixNano: ms(1_900) }, 100],
    ['lasts longer and begins later stays', { startUnixNano: ms(1_050), endUnixNano: ms(1_900) }, 0],
    ['lasts no time is put in the middle', { startUnixNano: ms(0), endUnixNano: 0n }, 1_050],
  ])('of a callee that %s', (_, times, expected) => {
    expect(skewMs(call(times))).toEqual({ caller: 0, callee: expected });
  });

  test.each<[string, Partial<TreeSpan>, Partial<TreeSpan>]>([
    ['of one host', { hostKey: 'a' }, {}],
    ['of a callee that names no host', { hostKey: '' }, {}],
    ['of a caller that names no host', {}, { hostKey: '' }],
    ['within a process', { otelKind: internal }, {}],
    ['from a producer to a consumer', { otelKind: consumer, flags: 0x301 }, { otelKind: producer }],
  ])('is not corrected on an edge %s', (_, child, parent) => {
    expect(skewMs(call({ ...early, ...child }, parent))).toEqual({ caller: 0, callee: 0 });
  });

  test.each<[string, Partial<TreeSpan>, Partial<TreeSpan>]>([
    ['a client calls a server', {}, {}],
    ['a producer calls a server', {}, { otelKind: producer }],
    ['a client calls a consumer', { otelKind: consumer }, {}],
    ['the flags say so', { otelKind: internal, flags: 0x301 }, { otelKind: internal }],
  ])('is corrected between hosts where %s', (_, child, parent) => {
    expect(skewMs(call({ ...early, ...child }, parent)).callee).toBe(520);
  });

  test('goes on below to spans of the same host and to those that name none', () => {
    const below = (spanId: string, parentSpanId: string, hostKey: string) =>
      treeSpan({ spanId, parentSpanId, hostKey, ...early });
    const spans = [
      ...call(early),
      below('same', 'callee', 'b'),
      below('none', 'same', ''),
      below('local', 'none', 'c'),
    ];
    expect(skewMs(spans)).toEqual({ caller: 0, callee: 520, same: 520, none: 520, local: 520 });
  });

  test('is measured against the corrected caller', () => {
    const next = { parentSpanId: 'callee', otelKind: client, ...early };
    const spans = [
      ...call(early),
      treeSpan({ spanId: 'next', hostKey: 'b', ...next }),
      treeSpan({ ...early, spanId: 'third', parentSpanId: 'next', hostKey: 'c', otelKind: server }),
    ];
    expect(skewMs(spans)).toEqual({ caller: 0, callee: 520, next: 520, third: 520 });
  });

  test('of more than a day is refused with a warning, and ends where it began', () => {
    const at = (ago: bigint): TreeSpan[] => {
      const start = ms(100_000_000);
      const [caller, callee] = [
        { startUnixNano: start, endUnixNano: start + 10n },
        { startUnixNano: start - ago, endUnixNano: start - ago + 10n },
      ];
      return [...call(callee, caller), treeSpan({ ...callee, spanId: 'below', parentSpanId: 'callee', hostKey: 'b' })];
    };
    expect(skewMs(at(skewNanoMax))).toEqual({ caller: 0, callee: 86_400_000, below: 86_400_000 });
    expect(skewMs(at(skewNanoMax + 1n))).toEqual({ caller: 0, callee: 0, below: 0 });
    const { nodes } = placeSpans(at(skewNanoMax + 1n), { skew: true });
    expect(nodes.map(({ span }) => span.skewRefused)).toEqual([false, true, false]);
  });

  test('never moves spans of one host against each other along an edge, nor any root', () => {
    fc.assert(
      fc.property(anyTrace, (spans) => {
        const tree = buildTree(spans);
        const skews = correctSkew(tree);
        for (const { span, parent, order } of tree.nodes) {
          if (parent === undefined) expect(skews[order]?.skewNano).toBe(0n);
          else if (span.hostKey === '' || span.hostKey === parent.span.hostKey) {
            expect(skews[order]?.skewNano).toBe(skews[parent.order]?.skewNano);
          }
        }
      }),
    );
  });

  test('changes no duration, and nothing at all when it is off', () => {
    fc.assert(
      fc.property(anyTrace, (spans) => {
        const duration = ({ startUnixNano: start, endUnixNano: end }: TreeSpan) => (end < start ? 0n : end - start);
        const sent = new Map(spans.map((span) => [span.spanId, span]));
        for (const { span } of placeSpans(spans, { skew: true }).nodes) {
          const before = sent.get(span.spanId);
          expect(before && duration(before)).toBe(duration(span));
          expect(before?.startUnixNano).toBe(span.startUnixNano - span.skewNano);
        }
        for (const { span } of placeSpans(spans, { skew: false }).nodes) {
          expect(span.startUnixNano).toBe(sent.get(span.spanId)?.startUnixNano);
        }
      }),
    );
  });
});

describe('the key of a host', () => {
  const all = { 'host.id': 'id', 'host.ip': '10.0.0.1', 'host.name': 'name', 'service.instance.id': 'instance' };
  test.each([
    [all, 'id'],
    [{ ...all, 'host.id': '' }, '10.0.0.1'],
    [{ 'service.instance.id': 'instance', 'host.name': 'name' }, 'name'],
    [{ 'service.instance.id': 'instance' }, 'instance'],
    [{}, 'resource:h'],
  ])('of %j is %s', (attributes, expected) => {
    expect(hostKeyOf({ attributes, resourceHash: 'h' })).toBe(expected);
  });

  test('of a resource without attributes is empty', () => {
    expect(hostKeyOf({ attributes: {}, resourceHash: '' })).toBe('');
  });
});
