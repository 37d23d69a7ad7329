import { setImmediate as nextTurn } from 'node:timers/promises';
import { FairLane } from '../../../lib/fair-lane.ts';
import { inflateBounded } from '../../../otlp/inflate.ts';
import { LongStepError, type OtlpLimits, stepElementsMax } from '../../../otlp/limits.ts';
import type { Span } from '../../../otlp/span.ts';
import type { IngestBodyPayload } from '../../../queue/job-catalog.ts';
import { loadRecordReaders } from '../../conventions/index.ts';
import type { RecordFinder } from '../../log-records/index.ts';
import type { PriceOverrides, PriceTable } from '../../pricing/index.ts';
import type { SharedPrompts } from '../../prompt-links/index.ts';
import type { SpanRow } from '../../spans/index.ts';
import { asBadBody } from './body-errors.ts';
import { createLookUps } from './create-record-finder.ts';
import {
  decodeSpans,
  type EncodedBody,
  encodeRows,
  findLogs,
  LargeRecordsError,
  type LogsOfSpans,
  linkRows,
  toRows,
} from './encode-body.ts';
import { createEncodeThreads, type EncodeThreadsOptions } from './encode-threads.ts';
import { priceSearchesMax } from './span-cost.ts';

/**
 * The worst body of this size blocks the main thread for less than 50 ms at a time. Decoding is one
 * step, so is each span, and so is encoding.
 */
const inlineBytesMax = 256 * 1024;
const inlineSpansMax = 1_000;
/** The log records of its spans are read and converted on the main thread as well. */
const inlineRecordBytesMax = 128 * 1024;
/**
 * Each row repeats the resource and the scope that the spans of a body share. This bounds the rows.
 */
const inlineRowBytesMax = 32 * 1024 * 1024;
/** Bytes of the same that the API has counted: few bytes of a body can be very many of JSON. */
const inlineRepeatedBytesMax = 8 * 1024 * 1024;

export interface BodyEncoderDeps {
  limits: OtlpLimits;
  prompts: SharedPrompts;
  records: RecordFinder;
  clickhouseUrl: string;
  priceTable: PriceTable;
  /** Whether log records without a meaning for the content of a span are kept. */
  keepOtherLogs: boolean;
}

export interface BodyEncoder {
  /**
   * Turns a body into rows. `overrides` are the project's own prices.
   * @throws BadBodyError when no retry can help
   */
  encode(payload: IngestBodyPayload, body: Buffer, overrides: PriceOverrides): Promise<EncodedBody>;
  close(): Promise<void>;
}

/**
 * Creates the encoder that turns received bytes into rows: small bodies one at a time on the main
 * thread, large ones in threads. Waiting work is bounded by the jobs that a worker has under way,
 * so no lane refuses any.
 */
export function createBodyEncoder(
  deps: BodyEncoderDeps,
  threadOptions: Partial<EncodeThreadsOptions> = {},
): BodyEncoder {
  const threads = createEncodeThreads({ ...deps, mayHaveRecords: deps.records.mayHave }, threadOptions);
  // Shared by all workspaces: one small body at a time, served in turn between workspaces. The
  // event loop runs other work in between.
  const turns = new FairLane({
    name: 'bodies on the main thread',
    capacity: 1,
    perKey: 1,
    waitingPerKey: Number.POSITIVE_INFINITY,
    waitingMax: Number.POSITIVE_INFINITY,
  });

  const lookUps = createLookUps(deps.records);

  function inTurn<T>({ workspaceId }: IngestBodyPayload, work: () => T | Promise<T>): Promise<T> {
    return turns.run(workspaceId, async () => {
      await nextTurn();
      return work();
    });
  }

  /**
   * Encodes a body in one turn where possible, because rows that outlive their turn cost much
   * garbage collection. Resolves to undefined for a body that needs a thread.
   */
  async function encodeHere(payload: IngestBodyPayload, body: Buffer, overrides: PriceOverrides) {
    const prices = { table: deps.priceTable, overrides, budget: { left: priceSearchesMax } };
    const step = await inTurn(payload, async () => {
      // The limit may have been higher when the body was accepted.
      const bytesMax = Math.max(deps.limits.inflatedBytesMax, payload.inflatedBytes);
      const inflated = await inflateBounded(payload.coding, body, bytesMax);
      if (inflated.length > inlineBytesMax) return undefined;
      const { keepOtherLogs: keepOther } = deps;
      const limits = { ...deps.limits, stepElementsMax };
      if (payload.signal === 'logs') {
        const { encodeLogBody } = await import('./encode-log-body.ts');
        return encodeLogBody({ payload, limits, keepOther }, { body, inflated });
      }
      const spans = decodeSpans(payload, inflated, limits);
      return deps.records.mayHave(payload.projectId) ? { spans } : linkAndEncode(spans, undefined);
    });
    if (step === undefined || 'rows' in step) return step;
    if ('linking' in step) return finish(step);
    // A body that waits for ClickHouse gives up its turn.
    const records = {
      finder: lookUps(payload.workspaceId),
      bytesMax: inlineRecordBytesMax,
      loadReaders: loadRecordReaders,
    };
    const logs = await findLogs(payload, step.spans, records);
    const encoded = await inTurn(payload, () => linkAndEncode(step.spans, logs));
    return 'linking' in encoded ? finish(encoded) : encoded;

    async function linkAndEncode(spans: readonly Span[], logs: LogsOfSpans | undefined) {
      const linking = linkRows(
        deps.prompts.of(payload.workspaceId),
        payload.projectId,
        await toRows({ payload, prices, logs }, spans),
      );
      // Cached prompts are available at once. A body that waits for Postgres gives up its turn.
      const rows = await Promise.race([linking, nextTurn()]);
      return rows === undefined ? { linking } : encodeRows(rows);
    }

    async function finish({ linking }: { linking: Promise<readonly SpanRow[]> }) {
      const rows = await linking;
      return inTurn(payload, () => encodeRows(rows));
    }
  }

  return {
    async encode(payload, body, overrides) {
      const encoded = isSmall(payload, body)
        ? await encodeHere(payload, body, overrides).catch((error) => {
            if (error instanceof LargeRecordsError || error instanceof LongStepError) return undefined;
            throw asBadBody(error);
          })
        : undefined;
      return encoded ?? threads.encode(payload, body, overrides);
    },
    close: threads.close,
  };
}

/**
 * Judges by what the API process counted. A payload with too small a count is noticed after its
 * body is inflated.
 */
function isSmall({ inflatedBytes, spans, repeatedBytes = 0 }: IngestBodyPayload, body: Buffer): boolean {
  const bytes = Math.max(inflatedBytes, body.length);
  if (repeatedBytes > inlineRepeatedBytesMax) return false;
  return bytes <= inlineBytesMax && spans <= inlineSpansMax && spans * bytes <= inlineRowBytesMax;
}
