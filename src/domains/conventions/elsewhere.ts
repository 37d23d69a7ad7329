import type { AnyValue } from '../../otlp/span.ts';
import { attributes, type Field, field, first, type Reading, warn } from './candidates.ts';
import type { Content } from './messages/message.ts';
import { text } from './read-value.ts';

/**
 * Attributes that say where clients uploaded content that they did not send. The addresses are
 * never read.
 */
export const inputElsewhere = elsewhere('input_elsewhere', [
  'gen_ai.input.messages_ref',
  'gen_ai.system_instructions_ref',
]);
export const outputElsewhere = elsewhere('output_elsewhere', ['gen_ai.output.messages_ref']);

/**
 * Adds the warning `content_elsewhere` when the span has no input or no output, and its attributes
 * or those of its records refer to one.
 */
export function warnElsewhere(
  reading: Reading,
  logged: Reading | undefined,
  { input, output }: { input: Content | undefined; output: Content | undefined },
): void {
  if (input === undefined) warnIfReferred(reading, logged, inputElsewhere);
  if (output === undefined) warnIfReferred(reading, logged, outputElsewhere);
}

function elsewhere(name: string, keys: readonly string[]): Field<true> {
  return field(name, attributes(keys, isAddress));
}

function warnIfReferred(reading: Reading, logged: Reading | undefined, from: Field<true>): void {
  if (first(reading, from) || (logged !== undefined && isInEvents(logged, from))) warn(reading, 'content_elsewhere');
}

function isInEvents({ span }: Reading, { rows }: Field<true>): boolean {
  return span.events.some(({ attributes: sent }) => rows.some(({ name }) => isAddress(sent.get(name) ?? null)));
}

function isAddress(value: AnyValue): true | undefined {
  return text(value) === undefined ? undefined : true;
}
