import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { decodeTraces } from '../../../src/otlp/decode.ts';
import { defaultOtlpLimits } from '../../../src/otlp/limits.ts';
import { scanTraces } from '../../../src/otlp/scan.ts';
import { largeRepeatedBytes } from '../../../src/queue/ingest-lanes.ts';
import {
  type Attributed,
  attributed,
  CapturedBodies,
  type Resourced,
  resourced,
  type Scoped,
  scoped,
} from '../../support/captured-bodies.ts';

interface SentSpan extends Attributed {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  traceState?: string;
  flags?: number;
  name?: string;
  kind?: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  events?: (Attributed & { timeUnixNano: string; name?: string })[];
  droppedEventsCount?: number;
  links?: (Attributed & { traceId: string; spanId: string; traceState?: string; flags?: number })[];
  droppedLinksCount?: number;
  status?: { code?: number; message?: string };
}

interface Request {
  resourceSpans: (Resourced & { scopeSpans: (Scoped & { spans: SentSpan[] })[] })[];
}

const captures = new CapturedBodies(join(import.meta.dirname, '../../fixtures/captures'));
/** The clients post metrics too, which are answered without a look inside. */
const bodies = captures.of('traces');

describe('OTLP captures of real clients', () => {
  it.each(bodies)('%s: every field is decoded as the independent decode has it', (name) => {
    const { encoding, bytes } = captures.read(name);
    const spans = decodeTraces(encoding, bytes, defaultOtlpLimits);
    const expected = expectedSpans(captures.decoded<Request>(name));
    expect(expected.length).toBeGreaterThan(0);
    expect(spans).toEqual(expected);
  });

  it.each(bodies)('%s: the scan accepts every span without a warning', (name) => {
    const { encoding, bytes } = captures.read(name);
    const scan = scanTraces(encoding, bytes, defaultOtlpLimits);
    const spans = decodeTraces(encoding, bytes, defaultOtlpLimits);
    expect(scan).toMatchObject({ accepted: spans.length, rejected: 0, reasons: [], warnings: [] });
    // Otherwise its rows would go to the lane of large bodies.
    expect(scan.repeatedBytes).toBeLessThan(largeRepeatedBytes);
  });

  it('the manifest counts the spans of each client as the scan does', () => {
    const manifest = captures.manifest<{ spans_received: number }>();
    const counted: Record<string, number> = {};
    for (const name of bodies) {
      const client = name.split('/')[0] ?? '';
      const { encoding, bytes } = captures.read(name);
      counted[client] = (counted[client] ?? 0) + scanTraces(encoding, bytes, defaultOtlpLimits).accepted;
    }
    expect(counted).toEqual(Object.fromEntries(Object.entries(manifest).map(([k, v]) => [k, v.spans_received])));
  });
});

function expectedSpans(request: Request) {
  return request.resourceSpans.flatMap((group) =>
    group.scopeSpans.flatMap((inner) =>
      inner.spans.map((span) => ({ ...resourced(group), ...scoped(inner), ...expectedSpan(span) })),
    ),
  );
}

function expectedSpan(span: SentSpan) {
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId ?? '',
    traceState: span.traceState ?? '',
    flags: span.flags ?? 0,
    name: span.name ?? '',
    kind: span.kind ?? 0,
    startUnixNano: BigInt(span.startTimeUnixNano),
    endUnixNano: BigInt(span.endTimeUnixNano),
    ...attributed(span),
    events: (span.events ?? []).map((event) => ({
      timeUnixNano: BigInt(event.timeUnixNano),
      name: event.name ?? '',
      ...attributed(event),
    })),
    droppedEventsCount: span.droppedEventsCount ?? 0,
    links: (span.links ?? []).map((link) => ({
      traceId: link.traceId,
      spanId: link.spanId,
      traceState: link.traceState ?? '',
      flags: link.flags ?? 0,
      ...attributed(link),
    })),
    droppedLinksCount: span.droppedLinksCount ?? 0,
    statusCode: span.status?.code ?? 0,
    statusMessage: span.status?.message ?? '',
    warnings: [],
  };
}
