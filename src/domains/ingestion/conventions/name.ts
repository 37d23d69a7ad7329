import { attribute, attributes, field } from './candidates.ts';
import { text } from './read-value.ts';

/** What to show instead of the span's own name. */
export const displayName = field('name', [
  attribute('gen_ai.tool.name', (value, { kind }) => (kind === 'tool' ? text(value) : undefined)),
  ...attributes(['logfire.msg', 'ai.telemetry.functionId'], text),
]);
