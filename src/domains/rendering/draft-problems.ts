import { InvalidError } from '../../lib/errors.ts';
import { InvalidTemplateError, type Lint } from '../templates/index.ts';

/** The result of a step that the draft may make fail. */
export type Attempt<Value> = { value: Value } | { lints: Lint[] };

/**
 * Runs a step and converts errors that the draft causes to lints. `path` is used for an error that
 * names no field.
 * @throws errors that the draft did not cause
 */
export async function attempt<Value>(path: string, run: () => Value | Promise<Value>): Promise<Attempt<Value>> {
  try {
    return { value: await run() };
  } catch (error) {
    if (error instanceof InvalidError) return { lints: lintsOf(error, path) };
    throw error;
  }
}

const nowhere = { line: 1, column: 1, length: 0 };

function lintsOf(error: InvalidError, path: string): Lint[] {
  const severity = 'error';
  if (error instanceof InvalidTemplateError) return error.problems.map((problem) => ({ ...problem, severity }));
  const faults = error.errors ?? [{ path, code: error.code, message: error.message }];
  return faults.map((fault) => ({ ...nowhere, ...fault, severity }));
}
