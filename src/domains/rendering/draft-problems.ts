import { InvalidError } from '../../lib/errors.ts';
import { InvalidTemplateError, type Lint } from '../templates/index.ts';

/** What came of something a draft may be at fault for. */
export type Attempt<Value> = { value: Value } | { lints: Lint[] };

/** Runs it; what it says of the draft becomes lints, `path` where it names no field. Throws what is not the draft's fault. */
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
