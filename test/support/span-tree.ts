import type { SpanWire } from '../../src/domains/executions/span.schema.ts';

/**
 * Returns spans as an indented tree with one line per span: kind, name as sent, then the known
 * values of model, tokens as `input(cached)>output(reasoning)`, prompt and error. Siblings are
 * sorted by their lines, because the clocks of clients count whole milliseconds.
 */
export function spanTree(spans: readonly SpanWire[]): string[] {
  const blocksBelow = (parent: string | null): string[][] =>
    spans
      .filter((span) => span.parent_span_id === parent)
      .map((span) => [line(span), ...blocksBelow(span.span_id).flatMap((block) => block.map((each) => `  ${each}`))])
      .toSorted((a, b) => (a.join('\n') < b.join('\n') ? -1 : 1));
  return blocksBelow(null).flat();
}

function line({ kind, span_name: name, model, usage, prompt_ref: prompt, status }: SpanWire): string {
  const tokens =
    usage && `${usage.input_tokens}(${usage.cache_read_tokens})>${usage.output_tokens}(${usage.reasoning_tokens})`;
  const promptName = prompt && `${prompt.name ?? '?'}@${prompt.raw}`;
  return [`${kind}:`, name, model, tokens, promptName, status === 'error' && 'ERROR'].filter(Boolean).join(' ');
}
