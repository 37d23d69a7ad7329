import { randomUUID } from 'node:crypto';
import { encodeRows, linkRows, readRows } from '../../src/domains/ingestion/store/encode-body.ts';
import type { BatchEntry } from '../../src/domains/ingestion/store/span-batcher.ts';
import { PriceTable } from '../../src/domains/pricing/index.ts';
import { KnownPrompts } from '../../src/domains/prompt-links/index.ts';
import { lightSpanOf } from '../../src/domains/spans/index.ts';
import { defaultOtlpLimits } from '../../src/otlp/limits.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { encodeSpans, type SpanInput } from './otlp-encode.ts';

/**
 * Returns a body of these spans as a worker has it before it stores the batch. Its project has no
 * prompts and no prices.
 */
export async function encodedBody(
  spans: readonly SpanInput[],
  {
    projectId,
    workspaceId,
    receivedAtMs = Date.now(),
  }: { projectId: string; workspaceId: string; receivedAtMs?: number },
): Promise<BatchEntry> {
  const bytes = Buffer.from(encodeSpans('protobuf', spans));
  const logger = createLogger({ level: 'silent', name: 'test' });
  const prompts = new KnownPrompts({ find: async () => new Map(), unknownMs: 1_000, askedMax: 200, logger });
  const payload = {
    v: 1,
    projectId,
    workspaceId,
    retentionDays: 0,
    encoding: 'protobuf',
    coding: 'identity',
    inflatedBytes: bytes.length,
    spans: spans.length,
    receivedAtMs,
  } as const;
  const prices = { table: new PriceTable(), overrides: new Map(), budget: { left: 0 } };
  const unlinked = await readRows({ payload, limits: defaultOtlpLimits, prices }, bytes);
  const rows = await linkRows(prompts.of(workspaceId), projectId, unlinked);
  const encoded = { ...encodeRows(rows), lightSpans: rows.map(lightSpanOf) };
  return { jobId: randomUUID(), receivedAtMs, projectId, workspaceId, encoded };
}
