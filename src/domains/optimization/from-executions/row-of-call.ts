import type { CallTexts } from '../../executions/index.ts';
import type { FeedbackKind, SaidOfTarget } from '../../feedback/index.ts';
import { descend, isMissing, templateLimits } from '../../templates/index.ts';
import { optimizeLimits } from '../optimize.schema.ts';
import type { RatedCall } from './read-rated-calls.ts';

/** Why a call gives no row. */
export const dropReasons = {
  missing_variables: 'do not have all variables of the prompt',
  ambiguous_feedback: 'are among several calls of the prompt in an execution, and the feedback names none of them',
  duplicate: 'have the inputs of a newer execution',
  too_large: `have an output or variables over 64 KiB, or over ${optimizeLimits.rowCharsMax} characters as JSON together`,
  not_stored: 'are no longer stored',
  own_call: 'were made by an optimization',
} as const;
export type DropReason = keyof typeof dropReasons;

/** A row that a recorded call gives. */
export interface ExecutionRow {
  inputs: Readonly<Record<string, unknown>>;
  /** A correction, or an output with positive feedback; absent if neither is known. */
  expected?: string;
  /** Whether `expected` is an output that a user rated well, which may be less than the best. */
  weakLabel: boolean;
  /** What a user said against the output. */
  note?: string;
}

/** Beyond it, a score is positive; below, it is negative. */
const neutralScore = 0.5;
/** Characters of an output in a note. */
const quotedMax = 1_000;

const isOfKind: Readonly<Record<FeedbackKind, (said: SaidOfTarget) => boolean>> = {
  any: () => true,
  positive: ({ score }) => score !== null && score > neutralScore,
  negative: ({ score }) => score !== null && score < neutralScore,
  corrected: ({ correction }) => correction !== null,
};

/** The variables of a prompt, as rows are compared with them. */
export interface PromptNames {
  /** Top-level names. */
  names: ReadonlySet<string>;
  /** Paths of the required ones, in segments. */
  required: readonly (readonly string[])[];
}

/** Splits the paths of a prompt's variables once for all calls. */
export function promptNames(variables: ReadonlyMap<string, boolean>): PromptNames {
  const paths = [...variables].map(([path, isRequired]) => ({ segments: path.split('.'), isRequired }));
  return {
    names: new Set(paths.map(({ segments: [name = ''] }) => name)),
    required: paths.flatMap(({ segments, isRequired }) => (isRequired ? [segments] : [])),
  };
}

/** Returns the row of a call, why it gives none, or undefined if it does not have the wanted feedback. */
export function rowOfCall(
  { spans, said }: RatedCall,
  variables: PromptNames,
  kind: FeedbackKind,
): ExecutionRow | DropReason | undefined {
  if (said === undefined) return 'ambiguous_feedback';
  const [own] = spans;
  if (own === undefined) return 'not_stored';
  if (spans.some(({ isOfOptimization }) => isOfOptimization)) return 'own_call';
  if (!isOfKind[kind](said)) return undefined;
  const inputs = inputsOf(spans, variables);
  if (inputs === undefined) return spans.some(({ cut }) => cut.variables) ? 'too_large' : 'missing_variables';
  const isRatedWell = isOfKind.positive(said);
  if (said.correction !== null) return { inputs, expected: said.correction, weakLabel: false, ...noteOf(own, said) };
  if (isRatedWell && own.cut.output) return 'too_large';
  if (isRatedWell && own.output !== undefined) return { inputs, expected: own.output, weakLabel: true };
  return { inputs, weakLabel: false, ...noteOf(own, said) };
}

/**
 * Returns the inputs that a call was made with: its variables, or those of the nearest span above it,
 * otherwise an input that is an object with exactly the variables. Undefined if a required one is
 * missing.
 */
function inputsOf(spans: readonly CallTexts[], { names, required }: PromptNames) {
  const isComplete = (inputs: Readonly<Record<string, unknown>>) =>
    required.every((path) => !isMissing(descend(inputs, path)));
  const recorded = spans.map(({ variables: given }) => inputsFrom(given, names)).find(isComplete);
  if (recorded !== undefined) return recorded;
  const isExact = (input: Readonly<Record<string, unknown>>) => Object.keys(input).every((name) => names.has(name));
  return spans
    .flatMap(({ input }) => (input === undefined ? [] : [input]))
    .find((input) => isExact(input) && isComplete(input));
}

const { nameSegmentsMax } = templateLimits;

/**
 * Returns the variables that the prompt has. `user.name` is the member of a variable `user`. A name of more segments
 * than a template may use is no variable.
 */
function inputsFrom(given: ReadonlyMap<string, unknown>, names: ReadonlySet<string>): Members {
  const inputs: Members = {};
  const own = new Set<unknown>();
  for (const [key, value] of given) {
    const path = names.has(key) ? [key] : key.split('.', nameSegmentsMax + 1);
    if (path.length <= nameSegmentsMax && names.has(path[0] ?? '')) setMember(inputs, path, value, own);
  }
  return inputs;
}

type Members = Record<string, unknown>;

/** Sets a member. The objects around it are copied once, and are then in `own`. */
function setMember(root: Members, path: readonly string[], value: unknown, own: Set<unknown>): void {
  let at = root;
  for (const name of path.slice(0, -1)) {
    const before = Object.hasOwn(at, name) ? at[name] : undefined;
    const isObject = typeof before === 'object' && before !== null && !Array.isArray(before);
    const below: Members = own.has(before) ? (before as Members) : { ...(isObject ? before : {}) };
    own.add(below);
    define(at, name, below);
    at = below;
  }
  define(at, path.at(-1) ?? '', value);
}

/** Sets also a member `__proto__` as a member. */
function define(at: Members, name: string, value: unknown): void {
  Object.defineProperty(at, name, { value, enumerable: true, writable: true, configurable: true });
}

function noteOf({ output }: CallTexts, said: SaidOfTarget): { note?: string } {
  if (said.comment === null && !isOfKind.negative(said)) return {};
  const comment = said.comment ?? 'it is not good.';
  return {
    note: output === undefined ? comment : `Of the output ${JSON.stringify(output.slice(0, quotedMax))}: ${comment}`,
  };
}
