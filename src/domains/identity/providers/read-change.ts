import { z } from 'zod';
import { parseBody } from '../../../http/validate.ts';
import type { IdentityChange, IdentityVerb } from '../../../queue/identity-event.ts';

/** One reader per kind of object that a provider reports. */
export type ChangeReaders = Readonly<Record<string, (verb: IdentityVerb, payload: unknown) => IdentityChange>>;

const verbs: readonly IdentityVerb[] = ['created', 'updated', 'deleted'];

/**
 * Creates a reader of one kind of object. It validates `data` of the payload by the schema and
 * converts it to a change.
 */
export function changeReader<S extends z.ZodType>(
  data: S,
  toChange: (verb: IdentityVerb, data: z.output<S>) => IdentityChange,
) {
  const envelope = z.looseObject({ data });
  return (verb: IdentityVerb, payload: unknown) => toChange(verb, parseBody(envelope, payload).data as z.output<S>);
}

/** Returns the verb of an event type such as `user.created`; undefined if it has none that is known. */
export function verbOf(type: string): IdentityVerb | undefined {
  const [, word, ...rest] = type.split('.');
  return rest.length > 0 ? undefined : verbs.find((known) => known === word);
}

/**
 * Reads the change of an event type such as `user.created`. Returns undefined if no reader handles
 * the type.
 */
export function readChange(readers: ChangeReaders, type: string, payload: unknown): IdentityChange | undefined {
  const [kind = ''] = type.split('.');
  const verb = verbOf(type);
  if (verb === undefined || !Object.hasOwn(readers, kind)) return undefined;
  return readers[kind]?.(verb, payload);
}
