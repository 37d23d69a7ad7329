import { InvalidError } from '../../lib/errors.ts';
import { inHeavyTurn } from '../../lib/heavy-turns.ts';
import { sharedThird } from '../../lib/pace.ts';
import { type CheckedVariables, checkVariables, isCompiled } from './schema/check-variables.ts';
import { isQuickCheck, schemaBytesMax } from './schema/schema-risk.ts';
import { beforeClone } from './threads/before-clone.ts';
import type { WorkspaceThreads } from './threads/template-threads.ts';

/**
 * Schemas known to compile, by object identity. The caller keeps the object with the prompt
 * version.
 */
const checked = new WeakSet<object>();

/**
 * Checks that `schema` is a JSON Schema (2020-12) that compiles within the limits.
 * @throws InvalidError (`invalid_input_schema`), TemplateLimitError
 */
export async function checkInputSchema(threads: WorkspaceThreads, schema: unknown): Promise<void> {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema))
    throw invalidSchema('it is not an object');
  if ('$async' in schema && schema.$async) throw invalidSchema('`$async` is not supported');
  await requireCompiles(threads, schema);
}

/** @throws InvalidError (`invalid_input_schema`), TemplateLimitError */
async function requireCompiles(threads: WorkspaceThreads, schema: object): Promise<void> {
  if (checked.has(schema)) return;
  const bytes = Buffer.byteLength(JSON.stringify(schema));
  if (bytes > schemaBytesMax) throw invalidSchema(`it has ${bytes} bytes, and the limit is ${schemaBytesMax}`);
  const { fault } = await threads.run('checkSchema', { schema });
  if (fault !== undefined) throw invalidSchema(fault);
  checked.add(schema);
}

/**
 * Checks the variables and returns a copy with the schema's defaults. Plain schemas are checked on
 * the event loop. Schemas that could be slow are checked in a worker thread with a time limit. A workspace may have any
 * number of schemas, so those that must be compiled first share a third of the event loop.
 * @throws InvalidError (`invalid_variables` with paths, `invalid_input_schema`), TemplateLimitError
 */
export async function validateVariables(
  threads: WorkspaceThreads,
  schema: object,
  variables: Readonly<Record<string, unknown>>,
): Promise<Omit<CheckedVariables, 'faults'>> {
  await requireCompiles(threads, schema);
  const { workspaceId } = threads;
  const inline = isQuickCheck(schema, variables);
  if (inline && !isCompiled(schema)) await sharedThird(workspaceId)();
  else if (!inline) await beforeClone(threads, variables);
  const found = inline
    ? await inHeavyTurn(workspaceId, () => checkVariables(workspaceId, schema, variables))
    : await threads.run('validate', { workspaceId, schema, variables });
  if (found.faults.length === 0) return { variables: found.variables, defaulted: found.defaulted };
  const [first] = found.faults;
  throw new InvalidError(
    'invalid_variables',
    `The variables do not match the input schema: ${first?.path} ${first?.message}`,
    {
      errors: found.faults,
    },
  );
}

function invalidSchema(why: string): InvalidError {
  return new InvalidError('invalid_input_schema', `The input schema is not valid: ${why}`, {
    errors: [{ path: 'input_schema', code: 'invalid_input_schema', message: why }],
  });
}
