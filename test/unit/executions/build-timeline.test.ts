import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { buildTimeline } from '../../../src/domains/executions/build-timeline.ts';
import type { SpanFilter } from '../../../src/domains/executions/tree/pick-spans.ts';
import { placeSpans } from '../../../src/domains/executions/tree/place-spans.ts';
import type { TreeSpan } from '../../../src/domains/spans/tree-span.ts';
import { anyTrace, capturedTraces, ms, traceTwice, treeSpan, treeSpans } from '../../support/tree-spans.ts';

const everything: SpanFilter = { kinds: undefined, durationNanoMin: 0n, errorsOnly: false, limit: 100 };

function timeline(spans: readonly TreeSpan[], filter: Partial<SpanFilter> = {}, skew = true) {
  return buildTimeline(placeSpans(spans, { skew }), { ...everything, ...filter }, skew);
}

const skewed = () => capturedTraces('otel-multiservice-skew').sort((a, b) => b.length - a.length)[0] ?? [];

describe('the timeline of services whose clocks differ', () => {
  test('has the times that the services meant', () => {
    const { spans, ...whole } = timeline(skewed());
    const intervals = Object.fromEntries(spans.map(({ name, start_ms, end_ms }) => [name, [start_ms, end_ms]]));
    expect(intervals).toEqual({
      'POST /ask': [0, 1_000],
      'POST agent': [50, 900],
      'POST /run': [60, 890],
      plan: [70, 200],
      'chat gpt-4o': [210, 600],
      'chat gpt-4o-mini': [220, 400],
      'POST retriever': [610, 850],
      'POST /search': [620, 840],
      embeddings: [625, 700],
      'zero-duration': [940, 940],
      'background flush': [950, 1_400],
    });
    expect(spans.find(({ name }) => name === 'embeddings')).toMatchObject({
      events: [{ name: 'cache.miss', offset_ms: 630 }],
      skew_ms: 2_000,
      raw_start_unix_nano: '1795217998625000000',
    });
    expect(whole).toMatchObject({
      start_unix_nano: '1795218000000000000',
      start_time: '2026-11-20T23:40:00.000Z',
      end_time: '2026-11-20T23:40:01.400Z',
      duration_ms: 1_400,
      root_duration_ms: 1_000,
      complete: true,
      max_concurrency: 2,
      services: ['agent', 'gateway', 'retriever'],
      warnings: [],
      clock_skew: {
        enabled: true,
        max_ms: 86_400_000,
        adjusted_spans: 7,
        by_host: [
          { host: 'host-a', span_count: 4, adjusted_spans: 0, skew_ms: 0 },
          { host: 'host-b', span_count: 5, adjusted_spans: 5, skew_ms: -500 },
          { host: 'host-c', span_count: 2, adjusted_spans: 2, skew_ms: 2_000 },
        ],
      },
    });
  });

  test('has the critical path of the root, which adds up to it', () => {
    const { spans, critical_path } = timeline(skewed());
    const nameOf = new Map(spans.map(({ span_id, name }) => [span_id, name]));
    expect(
      critical_path.segments.map(({ span_id, start_ms, end_ms }) => [nameOf.get(span_id), start_ms, end_ms]),
    ).toEqual([
      ['POST /ask', 0, 50],
      ['POST agent', 50, 60],
      ['POST /run', 60, 70],
      ['plan', 70, 200],
      ['POST /run', 200, 210],
      ['chat gpt-4o', 210, 600],
      ['POST /run', 600, 610],
      ['POST retriever', 610, 620],
      ['POST /search', 620, 625],
      ['embeddings', 625, 700],
      ['POST /search', 700, 840],
      ['POST retriever', 840, 850],
      ['POST /run', 850, 890],
      ['POST agent', 890, 900],
      ['POST /ask', 900, 950],
      ['background flush', 950, 1_000],
    ]);
    expect(critical_path.duration_ms).toBe(1_000);
    expect(spans.filter(({ on_critical_path }) => !on_critical_path).map(({ name }) => name)).toEqual([
      'chat gpt-4o-mini',
      'zero-duration',
    ]);
    expect(spans.find(({ name }) => name === 'POST /run')).toMatchObject({ critical_ms: 70, self_ms: 70 });
  });

  test('is as it was sent when the correction is off', () => {
    const { spans, ...whole } = timeline(skewed(), {}, false);
    expect(whole).toMatchObject({
      start_unix_nano: '1795217998620000000',
      duration_ms: 2_780,
      clock_skew: { enabled: false, adjusted_spans: 0 },
    });
    expect(spans.map(({ skew_ms }) => skew_ms)).toEqual(spans.map(() => 0));
    expect(spans.find(({ name }) => name === 'POST /search')).toMatchObject({ start_ms: 0, end_ms: 220 });
  });
});

describe('a timeline', () => {
  test('says of every span where it is', () => {
    const { spans, ...whole } = timeline(treeSpans('r 10-50', 'a(r) 15-25', 'b(a) 20-25', 'o(gone) 0-5'));
    expect(whole).toMatchObject({ span_count: 4, returned: 4, depth_max: 2, lanes: 3, complete: true });
    expect(
      spans.map(({ span_id, left_pct, width_pct, depth, lane, order, child_count, is_root, is_orphan }) => {
        return [span_id, left_pct, width_pct, depth, lane, order, child_count, is_root, is_orphan];
      }),
    ).toEqual([
      ['r', 20, 80, 0, 0, 0, 1, true, false],
      ['a', 30, 20, 1, 1, 1, 1, false, false],
      ['b', 40, 10, 2, 2, 2, 0, false, false],
      ['o', 0, 10, 0, 0, 3, 0, false, true],
    ]);
  });

  test('is exact to the nanosecond, however late', () => {
    const base = 2n ** 64n - 1_000n;
    const { spans, ...whole } = timeline([
      treeSpan({ spanId: 'r', startUnixNano: base, endUnixNano: base + 999n }),
      treeSpan({ spanId: 'a', parentSpanId: 'r', startUnixNano: base + 1n, endUnixNano: base + 3n }),
    ]);
    expect(whole).toMatchObject({ start_unix_nano: base.toString(), duration_ms: 0.000999 });
    expect(spans[1]).toMatchObject({ start_ms: 0.000001, end_ms: 0.000003, duration_ms: 0.000002 });
  });

  test('takes a span that ends before it begins, or at no time at all, as one without duration', () => {
    const { spans, ...whole } = timeline(treeSpans('r 50-10', 'zero(r) 0-0'));
    expect(spans.map(({ duration_ms, self_ms }) => [duration_ms, self_ms])).toEqual([
      [0, 0],
      [0, 0],
    ]);
    expect(whole).toMatchObject({
      duration_ms: 50,
      root_duration_ms: 0,
      critical_path: { duration_ms: 0, segments: [] },
    });
    const [only] = timeline(treeSpans('r 7-7')).spans;
    expect([only?.left_pct, only?.width_pct]).toEqual([0, 0]);
  });

  test('places events from its zero; one without a time has no place', () => {
    const events = [
      { name: 'e', timeUnixNano: ms(7) },
      { name: 'f', timeUnixNano: 0n },
    ];
    const { spans } = timeline([treeSpan({ spanId: 'r', startUnixNano: ms(5), endUnixNano: ms(9), events })]);
    expect(spans[0]?.events).toEqual([
      { name: 'e', offset_ms: 2 },
      { name: 'f', offset_ms: null },
    ]);
  });

  test('says that a cycle was cut', () => {
    const { spans, warnings, complete } = timeline(treeSpans('a(b) 2-3', 'b(a) 1-4'));
    expect([complete, warnings]).toEqual([false, [expect.stringMatching(/^parent_cycle: .* b$/)]]);
    expect(
      spans.map(({ span_id, parent_span_id, is_root, warnings: own }) => [span_id, parent_span_id, is_root, own]),
    ).toEqual([
      ['b', null, false, ['parent_cycle']],
      ['a', 'b', false, []],
    ]);
  });

  test('of any trace has all spans once, within itself, and is the same in any order of them', () => {
    fc.assert(
      fc.property(traceTwice, ([spans, shuffled]) => {
        const whole = timeline(spans);
        expect(timeline(shuffled)).toEqual(whole);
        expect(whole.spans.map(({ span_id }) => span_id).sort()).toEqual(spans.map(({ spanId }) => spanId).sort());
        expect(Math.min(...whole.spans.map(({ start_ms }) => start_ms))).toBe(0);
        expect(Math.max(...whole.spans.map(({ end_ms }) => end_ms))).toBe(whole.duration_ms);
        expect(whole.critical_path.duration_ms).toBe(whole.root_duration_ms);
      }),
    );
  });
});

describe('the filter of a timeline', () => {
  const spans = treeSpans('r 0-90', 'a(r) 1-40', 'b(a) 2-30', 'c(b) 3-4', 'd(r) 50-60').map((span) => ({
    ...span,
    kind: span.spanId === 'b' || span.spanId === 'c' ? 'llm' : 'other',
    status: span.spanId === 'c' ? ('error' as const) : ('ok' as const),
  }));
  const kept = (filter: Partial<SpanFilter>) =>
    timeline(spans, filter)
      .spans.map(({ span_id }) => span_id)
      .join('');

  test.each<[string, Partial<SpanFilter>, string]>([
    ['kinds keeps these', { kinds: new Set(['llm']) }, 'bc'],
    ['duration keeps spans as long or longer', { durationNanoMin: ms(10) }, 'rabd'],
    ['errors keeps failed spans and those above them', { errorsOnly: true }, 'rabc'],
    [
      'errors and kinds keeps failed spans of these and those above',
      { errorsOnly: true, kinds: new Set(['other']) },
      '',
    ],
    ['limit keeps the first', { limit: 2 }, 'ra'],
  ])('by %s', (_, filter, expected) => {
    expect(kept(filter)).toBe(expected);
  });

  test('says whether its limit left any out', () => {
    const more = (filter: Partial<SpanFilter>) => timeline(spans, filter).moreThanLimit;
    expect([more({ limit: 5 }), more({ limit: 4 }), more({ limit: 2, kinds: new Set(['llm']) })]).toEqual([
      false,
      true,
      false,
    ]);
  });

  test('changes nothing but the spans that are shown', () => {
    fc.assert(
      fc.property(anyTrace, (trace) => {
        const { spans: all, returned: _, moreThanLimit: __, ...whole } = timeline(trace);
        const {
          spans: some,
          returned,
          moreThanLimit: ___,
          ...rest
        } = timeline(trace, { kinds: new Set(['llm']), limit: 3 });
        expect(rest).toEqual(whole);
        expect(some).toEqual(all.filter(({ kind }) => kind === 'llm').slice(0, 3));
        expect(returned).toBe(some.length);
      }),
    );
  });
});
