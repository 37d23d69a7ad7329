import type { ClickHouse } from '../../stores/clickhouse/client.ts';
import { linkPrompts, type PromptFinder, resolveSpanPrompts } from '../prompt-links/index.ts';
import { LargeTraceError } from '../spans/index.ts';
import { findTreeSpans, type TreeSpan, type TreeSpans } from '../spans/reads.ts';
import { checkedTraceId, unknownExecution } from './execution-not-found.ts';

export interface FindTraceDeps {
  clickhouse: ClickHouse;
  knownPrompts: PromptFinder;
  /** Whether a large trace may be read in this thread. */
  large: boolean;
}

/**
 * UTF-16 units of all texts of a tree. As JSON they may be six times as many, and the answer is written in one step:
 * in at most about 40 ms in the main thread. In a worker thread its JSON must fit into one string.
 */
const textCharsMax = { here: 2_000_000, inThread: 24_000_000 };

/**
 * Reads the spans of a trace for its tree, each with its own or inherited prompt, and the trace id
 * as stored. Of a large trace, spans after the first {@link textCharsMax} are left out. Without
 * `events`, no span has any.
 * @throws NotFoundError when the trace has no spans
 * @throws LargeTraceError when `large` is false and the trace has too many rows or too long texts
 * @throws UnavailableError while ClickHouse is unavailable
 */
export async function findTrace(
  { clickhouse, knownPrompts, large }: FindTraceDeps,
  input: { projectId: string; traceId: string },
  { events }: { events: boolean },
): Promise<TreeSpans & { traceId: string }> {
  const traceId = checkedTraceId(input.traceId);
  const found = await findTreeSpans(clickhouse, { projectId: input.projectId, traceId }, { large, events });
  if (found.spans.length === 0) throw unknownExecution();
  const spans = await resolveSpanPrompts(knownPrompts, input.projectId, found.spans);
  const prompts = linkPrompts(spans);
  const linked = spans.map((span) => ({ ...span, prompt: prompts.get(span.spanId) ?? null }));
  const fitting = fittingSpans(linked, large ? textCharsMax.inThread : textCharsMax.here);
  const isCut = fitting.length < linked.length;
  if (isCut && !large) throw new LargeTraceError();
  return { traceId, truncated: found.truncated || isCut, spans: fitting };
}

/** Returns a warning that begins with its code if the spans are not all of their trace. */
export function cutWarnings({ truncated, spans }: TreeSpans): string[] {
  if (!truncated) return [];
  return [
    `truncated: the trace has more spans. The answer has the first ${spans.length}, and its totals cover only these. ` +
      'The execution itself has the totals of all spans',
  ];
}

/** Returns the first spans, up to a number of UTF-16 units of their texts. */
function fittingSpans(spans: TreeSpan[], charsMax: number): TreeSpan[] {
  let chars = 0;
  const end = spans.findIndex((span) => {
    chars += charsOf(span);
    return chars > charsMax;
  });
  return end < 0 ? spans : spans.slice(0, end);
}

function charsOf({ name, service, model, scope, hostKey, prompt, events }: TreeSpan): number {
  const ofPrompt = prompt === null ? [] : [prompt.id, prompt.name, prompt.key, prompt.rawVersion];
  const texts = [name, service, model, scope, hostKey, ...ofPrompt, ...events.map((event) => event.name)];
  return texts.reduce((sum, text) => sum + text.length, 0);
}
