import { mapInSlices, type Rest } from '../../lib/pace.ts';
import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { findCallTexts, variablePrefix } from '../spans/reads.ts';
import { asArray, asRecord } from './any-value-plain.ts';
import { attributesToWire, parseJsonText } from './span-parts.schema.ts';

/** What a span says about a call of a prompt. */
export interface CallTexts {
  traceId: string;
  spanId: string;
  /** '' for a root. */
  parentSpanId: string;
  /** The variables of the prompt, as JSON values. */
  variables: ReadonlyMap<string, unknown>;
  /** The input if it is a JSON object. */
  input: Readonly<Record<string, unknown>> | undefined;
  /** The text of the output; undefined if it has none. */
  output: string | undefined;
  /** Texts that were too long to be read. */
  cut: { output: boolean; variables: boolean };
  /** Whether the service itself made the call, for an optimization. */
  isOfOptimization: boolean;
}

/**
 * Returns the texts of some spans, in no particular order. Spans that are not stored are absent.
 * Converts them in slices, because one of 192 KiB takes several milliseconds.
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function readCallTexts(
  clickhouse: ClickHouse,
  projectId: string,
  spans: readonly { traceId: string; spanId: string }[],
  rest: Rest,
): Promise<CallTexts[]> {
  const rows = await findCallTexts(clickhouse, projectId, spans);
  return mapInSlices(rows, textsOf, rest);
}

function textsOf({ traceId, spanId, parentSpanId, ...row }: Awaited<ReturnType<typeof findCallTexts>>[number]) {
  const variables = Object.entries(attributesToWire(row).attributes);
  return {
    ...{ traceId, spanId, parentSpanId },
    variables: new Map(variables.map(([key, value]) => [key.slice(variablePrefix.length), value])),
    input: objectOf(row.objectInput),
    output: textOfOutput(row.output),
    cut: { output: row.outputIsCut, variables: row.variablesAreCut },
    isOfOptimization: row.source === 'optimization',
  };
}

function objectOf(json: string): Record<string, unknown> | undefined {
  const parsed = parseJsonText(json);
  return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) ? asRecord(parsed) : undefined;
}

/** Returns the text of the last message that has some, or the stored text if it has no messages. */
function textOfOutput(stored: string): string | undefined {
  if (stored === '') return undefined;
  const messages = asArray(parseJsonText(stored)).map(asRecord);
  if (messages.length === 0 || !messages.every(({ parts }) => Array.isArray(parts))) return stored;
  return messages.map(({ parts }) => textOfParts(parts)).findLast((text) => text !== '');
}

function textOfParts(parts: unknown): string {
  return asArray(parts)
    .map(asRecord)
    .flatMap(({ type, content }) => (type === 'text' && typeof content === 'string' ? [content] : []))
    .join('\n');
}
