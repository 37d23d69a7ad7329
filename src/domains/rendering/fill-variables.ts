import { InvalidError } from '../../lib/errors.ts';
import {
  descend,
  isMissing,
  MissingVariablesError,
  type OnMissing,
  validateVariables,
  type WorkspaceThreads,
} from '../templates/index.ts';
import type { CompiledPrompt } from './compile-prompt.ts';

/** The fields of a compiled prompt that filling needs. */
export type Fillable = Pick<CompiledPrompt, 'placeholders' | 'variables'> & {
  content: Pick<CompiledPrompt['content'], 'inputSchema'>;
};

export interface GivenValues {
  variables: Readonly<Record<string, unknown>>;
  placeholders: Readonly<Record<string, unknown>>;
  onMissing: OnMissing;
}

export interface FilledVariables {
  variables: Readonly<Record<string, unknown>>;
  /** Paths that a default of the schema filled. */
  defaulted: readonly string[];
}

/**
 * Checks the variables against the schema and fills in its defaults.
 * @throws InvalidError `invalid_variables` with paths
 * @throws MissingVariablesError with all missing variables, when `onMissing` is `error` and the
 * schema reports nothing else
 */
export async function fillVariables(
  threads: WorkspaceThreads,
  compiled: Fillable,
  given: GivenValues,
): Promise<FilledVariables> {
  const schema = compiled.content.inputSchema;
  if (schema === null) return { variables: given.variables, defaulted: [] };
  try {
    return await validateVariables(threads, schema, given.variables);
  } catch (error) {
    const absent = given.onMissing === 'error' ? absentPaths(error) : undefined;
    throw absent === undefined ? error : missingError(absent, compiled, given);
  }
}

/**
 * Returns the missing paths when the schema reports nothing else. Fields of a list's items are not
 * missing variables.
 */
function absentPaths(error: unknown): string[] | undefined {
  if (!(error instanceof InvalidError) || error.code !== 'invalid_variables') return undefined;
  const faults = error.errors ?? [];
  if (!faults.every(({ code, path }) => code === 'required' && !path.includes('['))) return undefined;
  return faults.map(({ path }) => path.replace(/^variables\./, ''));
}

function missingError(absent: readonly string[], compiled: Fillable, given: GivenValues): MissingVariablesError {
  const required = [...compiled.variables].filter(([, isRequired]) => isRequired).map(([path]) => path);
  const needed = required.filter((path) => isMissing(descend(given.variables, path.split('.'))));
  const empty = compiled.placeholders.filter((name) => !Object.hasOwn(given.placeholders, name));
  return new MissingVariablesError([...new Set([...absent, ...needed])], empty);
}
