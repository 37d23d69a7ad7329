import { attributes, field } from './candidates.ts';
import { text } from './read-value.ts';

/** The name to show instead of the span's own name. */
export const displayName = field('name', [
  // The AI SDK also sets `functionId` on tool calls. There it names the call that the tool belongs
  // to.
  ...attributes(['gen_ai.tool.name', 'ai.toolCall.name'], (value, { kind }) =>
    kind === 'tool' ? text(value) : undefined,
  ),
  ...attributes(['logfire.msg', 'ai.telemetry.functionId'], text),
]);
