import type { LogRecord } from '../../otlp/log-record.ts';
import type { Span } from '../../otlp/span.ts';
import type { NormalizedSpan } from '../spans/index.ts';
import {
  compileIndex,
  type Field,
  first,
  guarded,
  type Reading,
  startReading,
  type ValueBudget,
} from './candidates.ts';
import { reportedCost } from './cost.ts';
import { warnElsewhere } from './elsewhere.ts';
import { evaluations, evaluationsWith } from './evaluations.ts';
import { fields } from './fields.ts';
import { conversationId, sessionId, tags, userId } from './identity.ts';
import { kind } from './kind.ts';
import { limits } from './limits.ts';
import { model, provider, requestModel, responseId } from './model.ts';
import { displayName } from './name.ts';
import { params } from './params.ts';
import { preview } from './preview.ts';
import { promptRef } from './prompt-ref.ts';
import { cut } from './read-value.ts';
import { deploymentOf, spanEnvironment, spanRelease } from './resource.ts';
import { errorMessage, errorStack, errorType, httpStatusCode, readStatus } from './status.ts';
import { readInput, readOutput } from './text.ts';
import { ttftMs } from './time-to-first-token.ts';
import { readUsage } from './usage.ts';

const index = compileIndex(fields);

export type RecordReaders = Pick<typeof import('./reads.ts'), 'readJoinedText' | 'readRecords'>;

/** The log records of a span, in the order in which they are shown, and what reads them. */
export interface RecordsOfSpan {
  records: readonly LogRecord[];
  readers: RecordReaders;
}

/** Loads what reads log records. A process loads it when the first span has any. */
export const loadRecordReaders = (): Promise<RecordReaders> => import('./reads.ts');

/** Returns the number of values that all spans of one request body may read together. */
export function bodyBudget(): ValueBudget {
  return { values: limits.bodyValuesMax };
}

/**
 * Converts a decoded span of any convention to one format. Never throws: a field that fails is
 * empty and adds a warning. Values that would exceed the budget of the span, or `leftOfBody`, are
 * not parsed. The log records of the span
 * fill only what the span itself leaves empty: input, output, evaluations, and details of an error.
 */
export function normalizeSpan(span: Span, leftOfBody = bodyBudget(), logs?: RecordsOfSpan): NormalizedSpan {
  const reading = startReading(index, span, leftOfBody);
  reading.kind = first(reading, kind) ?? 'other';
  const deployment = deploymentOf(span.resource);
  const status = guarded(reading, 'status', () => readStatus(reading), 'unset');
  const failed = status === 'error';
  const logged =
    logs && guarded(reading, 'records', () => logs.readers.readRecords(index, reading, logs.records), undefined);
  const content =
    logs === undefined || logged === undefined
      ? { input: readInput(reading), output: readOutput(reading) }
      : logs.readers.readJoinedText(reading, logged);
  warnElsewhere(reading, logged, content);
  return {
    kind: reading.kind,
    name: first(reading, displayName) ?? cut(span.name, limits.identifierCharsMax),
    service: deployment.service,
    environment: deployment.environment || (first(reading, spanEnvironment) ?? ''),
    release: deployment.release || (first(reading, spanRelease) ?? ''),
    model: first(reading, model) ?? '',
    requestModel: first(reading, requestModel) ?? '',
    provider: first(reading, provider) ?? '',
    status,
    // Only failed spans have error details. A handled exception stays in the span's events.
    errorType: failed ? (either(reading, logged, errorType) ?? '') : '',
    errorMessage: failed ? messageOf(reading, logged) : '',
    errorStack: failed ? (either(reading, logged, errorStack) ?? '') : '',
    httpStatusCode: first(reading, httpStatusCode) ?? 0,
    usage: readUsage(reading),
    reportedCostNanoUsd: first(reading, reportedCost) ?? null,
    input: content.input?.text ?? '',
    output: content.output?.text ?? '',
    inputPreview: guarded(reading, 'input_preview', () => preview(content.input, 'user'), ''),
    outputPreview: guarded(reading, 'output_preview', () => preview(content.output, 'assistant'), ''),
    sessionId: first(reading, sessionId) ?? '',
    conversationId: first(reading, conversationId) ?? '',
    userId: first(reading, userId) ?? '',
    tags: first(reading, tags) ?? [],
    ttftMs: first(reading, ttftMs) ?? null,
    responseId: first(reading, responseId) ?? '',
    promptRef: first(reading, promptRef) ?? null,
    params: first(reading, params) ?? '',
    evaluations: judgements(reading, logged) ?? '',
    warnings: reading.warnings,
  };
}

function messageOf(reading: Reading, logged: Reading | undefined): string {
  const sent = cut(reading.span.statusMessage, limits.errorMessageCharsMax);
  return sent || (either(reading, logged, errorMessage) ?? '');
}

function judgements(reading: Reading, logged: Reading | undefined): string | undefined {
  if (logged === undefined) return first(reading, evaluations);
  return guarded(reading, 'evaluations', () => evaluationsWith(logged.span.events, reading), undefined);
}

/** Returns what the span itself says, or else its records. */
function either<T>(reading: Reading, logged: Reading | undefined, from: Field<T>): T | undefined {
  return first(reading, from) ?? (logged === undefined ? undefined : first(logged, from));
}
