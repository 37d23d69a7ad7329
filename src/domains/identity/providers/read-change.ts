import { z } from 'zod';
import { parseBody } from '../../../http/validate.ts';
import type { IdentityChange, IdentityVerb } from '../../../queue/identity-event.ts';

/** One row per kind of object that a provider reports on. */
export type ChangeReaders = Readonly<Record<string, (verb: IdentityVerb, payload: unknown) => IdentityChange>>;

const verbs: readonly IdentityVerb[] = ['created', 'updated', 'deleted'];

/** A reader of one kind of object: `data` of the payload by its schema, turned into a change. */
export function changeReader<S extends z.ZodType>(
  data: S,
  toChange: (verb: IdentityVerb, data: z.output<S>) => IdentityChange,
) {
  const envelope = z.looseObject({ data });
  return (verb: IdentityVerb, payload: unknown) => toChange(verb, parseBody(envelope, payload).data as z.output<S>);
}

/** The change that a type such as `user.created` stands for. Undefined for one that no row is for. */
export function readChange(readers: ChangeReaders, type: string, payload: unknown): IdentityChange | undefined {
  const [kind = '', word, ...rest] = type.split('.');
  const verb = verbs.find((known) => known === word);
  if (verb === undefined || rest.length > 0 || !Object.hasOwn(readers, kind)) return undefined;
  return readers[kind]?.(verb, payload);
}
