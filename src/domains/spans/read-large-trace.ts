import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import {
  type CompactSpan,
  type Facet,
  facetsMax,
  findCompactSpans,
  findFacets,
  findFirstTags,
  findSpeakers,
  findTraceTotals,
  type Speaker,
  type TraceTotals,
} from './large-trace-queries.ts';
import type { LightSpan } from './light-span.ts';

export interface LargeTrace {
  /** Over all spans, however many. */
  totals: TraceTotals;
  /** Some of its tags, those of the earliest spans first. */
  tags: string[];
  /** The earliest spans, and those that can represent the trace. Only the latter have texts. */
  spans: LightSpan[];
  /** Whether some spans, models, providers or prompts are missing from `spans`. */
  isCut: boolean;
}

/**
 * Reads what the summary of a trace of any size needs: totals, and of its earliest `spansMax` spans
 * what counting needs. Takes seconds of CPU time. Undefined for a trace without spans.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function readLargeTrace(
  clickhouse: ClickHouse,
  { projectId, traceId }: { projectId: string; traceId: string },
  spansMax: number,
): Promise<LargeTrace | undefined> {
  const totals = await findTraceTotals(clickhouse, projectId, traceId);
  if (totals === undefined) return undefined;
  const firstTags = totals.tagsDistinct === 0 ? [] : await findFirstTags(clickhouse, projectId, traceId);
  const facets = await findFacets(clickhouse, projectId, traceId);
  const compact = await findCompactSpans(clickhouse, projectId, traceId, spansMax);
  // Without a root, a span with a missing parent names the execution. Only the list of all span ids
  // tells which parent is missing.
  const speakers = totals.hasRoot ? totals.speakers : [...totals.speakers, ...firstOrphan(compact)];
  const speaking = await findSpeakers(clickhouse, projectId, traceId, speakers);
  return {
    totals,
    tags: [...new Set([...firstTags, ...totals.tags])],
    spans: lightSpans(traceId, compact, facets, speaking),
    isCut: totals.spans > compact.length || facets.length === facetsMax,
  };
}

function lightSpans(
  traceId: string,
  compact: readonly CompactSpan[],
  facets: readonly Facet[],
  speakers: readonly Speaker[],
): LightSpan[] {
  const facetOf = new Map(facets.map((facet) => [facet.facet, facet]));
  const unseen = new Map(speakers.map((speaker) => [speaker.spanId, speaker]));
  const spans = compact.map((span) => {
    const texts = unseen.get(span.spanId) ?? noTexts;
    unseen.delete(span.spanId);
    return { ...texts, ...placeOf(traceId, span), ...countsOf(span, facetOf.get(span.facet)) };
  });
  // These spans started after the last counted one.
  for (const speaker of unseen.values())
    spans.push({ ...noTexts, ...speaker, ...placeOf(traceId, speaker), ...noCounts });
  return spans;
}

const noTexts = {
  receivedAtMs: 0,
  retentionDays: 0,
  name: '',
  service: '',
  environment: '',
  sessionId: '',
  userId: '',
  inputPreview: '',
  outputPreview: '',
  normalizerVersion: 0,
};
const noFacet: Facet = {
  ...{ facet: '', provider: '', model: '', errorType: '' },
  ...{ id: '', name: '', version: 0, rawVersion: '', source: '', key: '' },
};
const noCounts = {
  provider: '',
  model: '',
  errorType: '',
  ttftMs: null,
  usage: null,
  costNanoUsd: null,
  costSource: 'none' as const,
  responseId: '',
  prompt: null,
};

function placeOf(
  traceId: string,
  { spanId, parentSpanId, startUnixNano, endUnixNano, kind, status }: Speaker | CompactSpan,
) {
  return { traceId, spanId, parentSpanId, startUnixNano, endUnixNano, kind, status, sentOnce: false, tags: [] };
}

function countsOf(span: CompactSpan, facet: Facet | undefined): Pick<LightSpan, keyof typeof noCounts> {
  const { usage, costNanoUsd, costSource, responseId, ttftMs } = span;
  const { facet: _hash, provider, model, errorType, ...prompt } = facet ?? noFacet;
  const named = prompt.source === '' ? null : prompt;
  return { provider, model, errorType, ttftMs, usage, costNanoUsd, costSource, responseId, prompt: named };
}

/** Returns the id of the earliest span whose parent has not arrived, as a list of at most one. */
function firstOrphan(spans: readonly CompactSpan[]): string[] {
  const present = new Set(spans.map(({ spanId }) => spanId));
  const orphan = spans.find(({ parentSpanId }) => !present.has(parentSpanId));
  return orphan === undefined ? [] : [orphan.spanId];
}
