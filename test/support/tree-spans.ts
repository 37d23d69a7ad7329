import fc from 'fast-check';
import { normalizeSpan } from '../../src/domains/conventions/normalize-span.ts';
import { hostKeyOf } from '../../src/domains/spans/span-origins.ts';
import type { TreeSpan } from '../../src/domains/spans/tree-span.ts';
import { decodeTraces } from '../../src/otlp/decode.ts';
import { defaultOtlpLimits } from '../../src/otlp/limits.ts';
import type { Span } from '../../src/otlp/span.ts';
import { readCaptures } from './captures.ts';

/** Returns a span of the tree of a trace. By default it is a root with its id as its name, from 0 to 10 ns. */
export function treeSpan(given: Partial<TreeSpan> & { spanId: string }): TreeSpan {
  return {
    parentSpanId: '',
    startUnixNano: 0n,
    endUnixNano: 10n,
    kind: 'other',
    name: given.spanId,
    status: 'unset',
    service: '',
    model: '',
    usage: null,
    costNanoUsd: null,
    responseId: '',
    prompt: null,
    otelKind: 1,
    flags: 0,
    ttftMs: null,
    scope: '',
    hostKey: '',
    skewNano: 0n,
    skewRefused: false,
    events: [],
    warnings: [],
    ...given,
  };
}

/** Parses lines such as `b(a) 3-4`: `id(parent) start-end`, in milliseconds. */
export function treeSpans(...lines: string[]): TreeSpan[] {
  return lines.map((line) => {
    const [, spanId = '', parentSpanId = '', start = '0', end = '0'] =
      /^(\w+)(?:\((\w+)\))? (\d+)-(\d+)$/.exec(line) ?? [];
    if (spanId === '') throw new Error(`Not a span: ${line}`);
    return treeSpan({ spanId, parentSpanId, startUnixNano: ms(start), endUnixNano: ms(end) });
  });
}

export function ms(value: number | string): bigint {
  return BigInt(value) * 1_000_000n;
}

const ids = Array.from({ length: 14 }, (_, index) => `s${String(index).padStart(2, '0')}`);
const usage = fc.nat(9).map((inputTokens) => ({
  inputTokens,
  outputTokens: 1,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
  totalTokens: inputTokens + 1,
}));

/**
 * Any trace: several hosts; roots, orphans, cycles and spans that are their own parent; equal,
 * reversed, zero and very large times.
 */
export const anyTrace: fc.Arbitrary<TreeSpan[]> = fc
  .record({ base: fc.constantFrom(0n, 1_795_218_000_000_000_000n, 2n ** 64n - 100n), far: fc.boolean() })
  .chain(({ base, far }) =>
    fc.uniqueArray(
      fc
        .record({
          spanId: fc.constantFrom(...ids),
          parentSpanId: fc.oneof(
            { weight: 5, arbitrary: fc.constantFrom(...ids) },
            { weight: 1, arbitrary: fc.constantFrom('', 'gone', 'lost') },
          ),
          startUnixNano: fc.bigInt({ min: 0n, max: 30n }).map((offset) => base + offset),
          endUnixNano: fc.bigInt({ min: 0n, max: far ? 90n : 40n }).map((offset) => base + offset),
          otelKind: fc.integer({ min: 1, max: 5 }),
          flags: fc.constantFrom(0, 0x101, 0x301),
          hostKey: fc.constantFrom('', 'a', 'b', 'c'),
          kind: fc.constantFrom('llm', 'agent', 'tool', 'other'),
          status: fc.constantFrom('unset', 'ok', 'error'),
          responseId: fc.constantFrom('', 'r'),
          usage: fc.option(usage),
          costNanoUsd: fc.option(fc.bigInt({ min: 0n, max: 9n })),
        })
        .map((fields) => treeSpan(fields as Partial<TreeSpan> & { spanId: string })),
      { selector: ({ spanId }) => spanId, minLength: 1, maxLength: ids.length },
    ),
  );

/** A trace, and the same spans in another order. */
export const traceTwice = anyTrace.chain((spans) =>
  fc.tuple(fc.constant(spans), fc.shuffledSubarray(spans, { minLength: spans.length })),
);

/** Returns the spans of the capture of a client, by trace, as the store returns them. */
export function capturedTraces(client: string): TreeSpan[][] {
  const traces = new Map<string, TreeSpan[]>();
  for (const { body } of readCaptures(client)) {
    for (const span of decodeTraces('protobuf', body, defaultOtlpLimits)) {
      traces.set(span.traceId, [...(traces.get(span.traceId) ?? []), toTreeSpan(span)]);
    }
  }
  return [...traces.values()];
}

function toTreeSpan(span: Span): TreeSpan {
  const normalized = normalizeSpan(span);
  return treeSpan({
    spanId: span.spanId,
    parentSpanId: span.parentSpanId,
    startUnixNano: span.startUnixNano,
    endUnixNano: span.endUnixNano,
    otelKind: span.kind,
    flags: span.flags,
    kind: normalized.kind,
    name: normalized.name,
    status: normalized.status,
    service: normalized.service,
    model: normalized.model,
    usage: normalized.usage,
    scope: span.scope.name,
    hostKey: hostKeyOf({ attributes: textAttributes(span), resourceHash: 'hash' }),
    events: span.events,
  });
}

function textAttributes({ resource }: Span): Record<string, string> {
  return Object.fromEntries(
    [...resource.attributes].flatMap(([key, value]) => (typeof value === 'string' ? [[key, value]] : [])),
  );
}
