import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { normalizeSpan } from '../../../src/domains/conventions/normalize-span.ts';
import type { NormalizedSpan } from '../../../src/domains/spans/normalized-span.ts';
import { sumUsage } from '../../../src/domains/summaries/count-usage.ts';
import type { Span } from '../../../src/otlp/span.ts';
import { captureFolder, type ExpectedTrace, manifest } from '../../support/captures.ts';
import { spansFromJson, type TracesJson } from '../../support/span-from-json.ts';

type Pair = readonly [Span, NormalizedSpan];

describe.each(Object.entries(manifest))('spans of %s', (client, expected) => {
  const received = spansOf(client);
  const unique = [...new Map(received.map((span) => [`${span.traceId}/${span.spanId}`, span])).values()];

  test('are all there, duplicates included', () => {
    expect([received.length, unique.length]).toEqual([expected.spans_received, expected.spans_unique]);
  });

  test('normalize to what the manifest says of each trace', () => {
    const summaries = tracesOf(unique).map(summary);
    expect(sorted(summaries)).toEqual(sorted(expected.traces.map(withSortedLists)));
  });

  test('count the same when a trace is delivered twice', () => {
    for (const spans of tracesOf(received)) {
      const once = sumUsage(countable(spans));
      expect(sumUsage(countable([...spans, ...spans]))).toEqual(once);
    }
  });

  test('need no warning', () => {
    expect(received.flatMap((span) => normalizeSpan(span).warnings)).toEqual([]);
  });
});

function spansOf(client: string): Span[] {
  const files = readdirSync(join(captureFolder, client)).filter((file) => file.endsWith('.decoded.json'));
  return files.sort().flatMap((file) => {
    const json: TracesJson = JSON.parse(readFileSync(join(captureFolder, client, file), 'utf8'));
    return spansFromJson(json);
  });
}

function tracesOf(spans: readonly Span[]): Span[][] {
  const ids = [...new Set(spans.map(({ traceId }) => traceId))];
  return ids.map((id) => spans.filter(({ traceId }) => traceId === id));
}

function countable(spans: readonly Span[]) {
  return spans.map((span) => {
    const { kind, usage, reportedCostNanoUsd, responseId } = normalizeSpan(span);
    const { spanId, parentSpanId, startUnixNano } = span;
    return { spanId, parentSpanId, startUnixNano, kind, usage, costNanoUsd: reportedCostNanoUsd, responseId };
  });
}

function summary(spans: readonly Span[]): ExpectedTrace {
  const pairs = spans.map((span): Pair => [span, normalizeSpan(span)]);
  const all = pairs.map(([, normalized]) => normalized);
  const ids = new Set(spans.map(({ spanId }) => spanId));
  const counted = sumUsage(countable(spans));
  const reported = all.some(({ reportedCostNanoUsd }) => reportedCostNanoUsd !== null);
  return {
    spans: spans.length,
    roots: names(spans.filter(({ parentSpanId }) => parentSpanId === '')),
    orphans: names(spans.filter(({ parentSpanId }) => parentSpanId !== '' && !ids.has(parentSpanId))),
    kinds: histogram(all.map(({ kind }) => kind)),
    errors: all.filter(({ status }) => status === 'error').length,
    tokens: { in: counted.usage.inputTokens, out: counted.usage.outputTokens },
    models: distinct(all.map(({ model }) => model)),
    providers: distinct(all.map(({ provider }) => provider)),
    session: distinct(all.map(({ sessionId }) => sessionId)),
    user: distinct(all.map(({ userId }) => userId)),
    tags: distinct(all.map(({ tags }) => tags.join('|'))),
    prompt: distinct(all.map(({ promptRef: ref }) => (ref === null ? '' : `${ref.name || '?'}@${ref.rawVersion}`))),
    ttft: all.filter(({ ttftMs }) => ttftMs !== null).length,
    llm_with_io: all.filter(({ kind, input, output }) => kind === 'llm' && input !== '' && output !== '').length,
    ...(reported && { cost: Number(counted.costNanoUsd) / 1e9 }),
  };
}

function names(spans: readonly Span[]): string[] {
  return distinct(spans.map(({ name }) => name));
}

function distinct(values: readonly string[]): string[] {
  return [...new Set(values)].filter((value) => value !== '').sort();
}

function histogram(values: readonly string[]): Record<string, number> {
  return Object.fromEntries(values.map((value) => [value, values.filter((other) => other === value).length]));
}

function withSortedLists(trace: ExpectedTrace): ExpectedTrace {
  const lists = Object.entries(trace).map(([name, value]) => [name, Array.isArray(value) ? value.toSorted() : value]);
  return Object.fromEntries(lists);
}

function sorted(traces: readonly ExpectedTrace[]): ExpectedTrace[] {
  return traces.toSorted((a, b) => (a.roots.join() < b.roots.join() ? -1 : 1));
}
