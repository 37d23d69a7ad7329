import { z } from 'zod';
import { closest } from '../lib/closest.ts';
import type { Fault } from '../lib/errors.ts';

type Issue = z.core.$ZodIssue;

/**
 * Validates a value and reports each fault with path, code and the bad value. Each unknown key
 * becomes one `unknown_field`, with a suggestion when a known key is similar. At most 50 faults are
 * reported.
 */
export function check<S extends z.ZodType>(
  schema: S,
  value: unknown,
): { ok: true; value: z.output<S> } | { ok: false; faults: Fault[] } {
  const wording = newWording();
  const result = schema._zod.run({ value, issues: [] }, { async: false, ...wording });
  if (result instanceof Promise) throw new Error('A schema must not be asynchronous');
  if (result.issues.length === 0) return { ok: true, value: result.value as z.output<S> };
  // Does what `safeParse` does, but creates messages only for the first issues: a hostile body can
  // have fifty thousand.
  const issues = result.issues.slice(0, faultsMax).map((raw) => z.core.util.finalizeIssue(raw, wording, z.config()));
  return { ok: false, faults: issues.flatMap((issue) => toFaults(issue, [])).slice(0, faultsMax) };
}

/**
 * Formats a path as `spans[0].name`, with quotes around keys that are not plain words. Long keys are
 * cut, because a fault in each of many values below one key repeats it.
 */
export function formatPath(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, key) => {
    if (typeof key === 'number') return `${text}[${key}]`;
    const name = String(key);
    if (name.length > quotedCharsMax || !/^[A-Za-z_$][\w$-]*$/.test(name)) return `${text}[${quote(name)}]`;
    return text === '' ? name : `${text}.${name}`;
  }, '');
}

/**
 * Formats a bad value for a message: JSON of at most 80 characters; for containers only their type.
 */
export function quote(value: unknown): string {
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === 'object' && value !== null) return 'an object';
  const text = typeof value === 'string' ? JSON.stringify(value.slice(0, quotedCharsMax)) : String(value);
  return typeof value === 'string' && value.length > quotedCharsMax
    ? `${text}… (${value.length} characters)`
    : text.slice(0, quotedCharsMax);
}

const quotedCharsMax = 80;
/** A hostile body can hold a million unknown keys, and no reader needs more faults than this. */
const faultsMax = 50;
/** Unknown keys of a request for which a name is suggested: each is compared with all known names. */
const suggestedMax = 10;

/**
 * Creates the messages of one check. zod requests one message per issue, and an issue holds all
 * unknown keys of an object, so its message has one line per key. A union makes issues for each of its branches, so
 * its keys are counted over all issues.
 */
function newWording() {
  let unknownKeys = 0;
  const error = (issue: z.core.$ZodRawIssue): string | undefined => {
    if (issue.code === 'invalid_format' && issue.format === 'datetime') return datetimeFault;
    if (issue.code !== 'unrecognized_keys') return undefined;
    const known = knownKeys(issue.inst);
    const lines = issue.keys.slice(0, Math.max(1, faultsMax - unknownKeys)).map((key) => {
      return unknownKeys++ < suggestedMax ? describeUnknown(key, known) : `${quote(key)} does not exist`;
    });
    return lines.join('\n');
  };
  return { error, reportInput: true };
}

function describeUnknown(key: string, known: readonly string[]): string {
  const near = closest(key, known);
  const hint = near
    ? `did you mean ${quote(near)}?`
    : `the known names are: ${known.slice(0, 40).join(', ') || 'none'}`;
  return `${quote(key)} does not exist; ${hint}`;
}

const datetimeFault = 'must be a time in ISO 8601 with an offset, such as 2026-01-31T08:30:00Z';

/**
 * Returns the keys of the strict object that raised the issue. zod passes the schema to error maps
 * as `inst`.
 */
function knownKeys(inst: unknown): string[] {
  return typeof inst === 'object' && inst !== null && 'shape' in inst && typeof inst.shape === 'object' && inst.shape
    ? Object.keys(inst.shape)
    : [];
}

/** What zod says of a union without a message of its own. */
const unspecific = 'Invalid input';

function toFaults(issue: Issue, prefix: readonly PropertyKey[]): Fault[] {
  const path = [...prefix, ...issue.path];
  if (issue.code === 'unrecognized_keys') return unknownFields(issue, path);
  // A union with a message of its own says what all its branches take.
  if (issue.code === 'invalid_union' && issue.errors.length > 0 && issue.message === unspecific) {
    return likeliestBranch(issue.errors)
      .slice(0, faultsMax)
      .flatMap((nested) => toFaults(nested, path));
  }
  return [{ path: formatPath(path), code: faultCode(issue), message: message(issue) }];
}

function unknownFields(issue: Extract<Issue, { code: 'unrecognized_keys' }>, path: readonly PropertyKey[]): Fault[] {
  return issue.message.split('\n').map((line, index) => ({
    path: formatPath([...path, issue.keys[index] ?? '']),
    code: 'unknown_field',
    message: line,
  }));
}

/**
 * Returns the union branch that accepted most of the value: the one with the deepest first fault,
 * then with the fewest faults.
 */
function likeliestBranch(branches: readonly (readonly Issue[])[]): readonly Issue[] {
  const depth = (branch: readonly Issue[]) => branch[0]?.path.length ?? 0;
  const [best] = [...branches].sort((a, b) => depth(b) - depth(a) || a.length - b.length);
  return best ?? [];
}

function faultCode(issue: Issue): string {
  if (issue.code === 'invalid_type' && issue.input === undefined) return 'required';
  if (issue.code === 'custom') return typeof issue.params?.code === 'string' ? issue.params.code : 'invalid';
  return issue.code;
}

function message(issue: Issue): string {
  if (faultCode(issue) === 'required') return 'is required';
  // The message of a custom rule on an object names one of its fields, so quoting the whole object
  // would mislead.
  const isOfObject = issue.code === 'custom' && typeof issue.input === 'object' && issue.input !== null;
  return 'input' in issue && issue.input !== undefined && !isOfObject
    ? `${issue.message}; given ${quote(issue.input)}`
    : issue.message;
}
