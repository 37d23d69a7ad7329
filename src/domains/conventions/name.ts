import { attributes, field } from './candidates.ts';
import { text } from './read-value.ts';

/** What to show instead of the span's own name. */
export const displayName = field('name', [
  // The AI SDK sets `functionId` on tool calls as well, where it names the call that the tool belongs to.
  ...attributes(['gen_ai.tool.name', 'ai.toolCall.name'], (value, { kind }) =>
    kind === 'tool' ? text(value) : undefined,
  ),
  ...attributes(['logfire.msg', 'ai.telemetry.functionId'], text),
]);
