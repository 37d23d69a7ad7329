import type { z } from 'zod';
import { type Fault, InvalidError, MalformedError } from '../lib/errors.ts';
import { check } from './faults.ts';
import { gatherPrefixed, type QueryValues } from './query.ts';

/** Path parameters as decoded from the URL. */
export type PathParams = Readonly<Record<string, string>>;

/**
 * Validates path parameters.
 * @throws InvalidError `invalid_path_parameter`
 */
export function parseParams<S extends z.ZodType>(schema: S, params: PathParams): z.output<S> {
  const result = check(schema, params);
  if (result.ok) return result.value;
  throw new InvalidError('invalid_path_parameter', summarize(result.faults), { errors: result.faults });
}

/**
 * Validates query parameters.
 * @throws MalformedError `unknown_parameter` or `invalid_parameter`, naming the parameter
 */
export function parseQuery<S extends z.ZodObject>(schema: S, query: QueryValues): z.output<S> {
  const result = check(schema, gatherPrefixed(Object.keys(schema.shape), query));
  if (result.ok) return result.value;
  const faults = result.faults.map((fault) => ({
    ...fault,
    path: parameterName(fault.path),
    code: fault.code === 'unknown_field' ? 'unknown_parameter' : fault.code,
  }));
  const unknown = faults.some((fault) => fault.code === 'unknown_parameter');
  throw new MalformedError(unknown ? 'unknown_parameter' : 'invalid_parameter', summarize(faults), { errors: faults });
}

/**
 * Validates a body.
 * @throws MalformedError `unknown_field` when a field does not exist, else InvalidError
 * `invalid_body`
 */
export function parseBody<S extends z.ZodType>(schema: S, body: unknown): z.output<S> {
  const result = check(schema, body);
  if (result.ok) return result.value;
  return refuseBody(result.faults);
}

/**
 * Throws for the faults of a body, of which there is at least one.
 * @throws as {@link parseBody}
 */
export function refuseBody(faults: readonly Fault[]): never {
  if (faults.some((fault) => fault.code === 'unknown_field')) {
    throw new MalformedError('unknown_field', summarize(faults), { errors: faults });
  }
  throw new InvalidError('invalid_body', summarize(faults), { errors: faults });
}

/** Converts `["attr."]["user.id"]` to `attr.user.id`, as the caller wrote it. */
function parameterName(path: string): string {
  return path.replace(/^\["(\w+\.)"\]\.?(?:\["(.*)"\])?/, '$1$2');
}

function summarize(faults: readonly Fault[]): string {
  const [first] = faults;
  if (!first) return 'The input is not valid';
  const text = `${first.path || 'body'}: ${first.message}`;
  return faults.length === 1 ? text : `${text} (and ${faults.length - 1} more, see errors)`;
}
