import { hash } from 'node:crypto';
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import type { AnyValidateFunction } from 'ajv/dist/types/index.js';
import addFormats from 'ajv-formats';
import { LRUCache } from 'lru-cache';
import type { Fault } from '../../../lib/errors.ts';
import { hasAtMostValues, multipleOfPrecision } from '../../../lib/json-values.ts';
import { retainedBytesOf } from '../../../lib/retained-bytes.ts';
import { SharedCache } from '../../../lib/shared-cache.ts';
import { TemplateLimitError } from '../problems.ts';

/** The result of a check: the variables with the schema's defaults, and the faults found. */
export interface CheckedVariables {
  variables: Record<string, unknown>;
  /** Paths that a default filled: the first, as many as have {@link defaultedCharsMax} characters. */
  defaulted: string[];
  faults: Fault[];
}

const faultsMax = 100;
/** Characters of the path of a fault, and of its message. A key of variables or of a schema can be long. */
const faultCharsMax = 500;
/** Characters of all paths that a default filled. */
const defaultedCharsMax = 65_536;
const keptMax = 200;
const keptBytesMax = 16 * 1024 * 1024;
/** Approximate bytes of an Ajv instance, and of a character of its code with what V8 creates from it. */
const bytesPerInstance = 65_536;
const bytesPerCharacter = 4;

interface CompiledSchema {
  validate: ValidateFunction;
  /** The validators of the schema and of those that it refers to. Ajv sets them. */
  functions: readonly { validate?: AnyValidateFunction }[];
  bytes: number;
}

/**
 * Shared by all workspaces of this thread. Each validator belongs to the one that compiled it, and others with the same
 * schema use it as well.
 */
const compiledKept = new SharedCache<CompiledSchema>({ entriesMax: keptMax, bytesMax: keptBytesMax });
const ownerOf = new LRUCache<string, string>({ max: 2 * keptMax });

/**
 * Returns the reason why a schema is invalid, if it is. Validating a schema against the standard's own
 * schema may take long, so it is done once, in a worker thread. The validator is not cached, because
 * many schemas of drafts are not used again.
 */
export function faultOfSchema(schema: unknown): string | undefined {
  if (isCompiled(schema)) return undefined;
  const compiled = compile(schema, true);
  if (typeof compiled === 'string') return compiled;
  try {
    faultsIn({}, compiled);
    return undefined;
  } catch (error) {
    return reasonOf(error);
  }
}

/** Returns whether this thread has the validator of a schema. To compile one takes milliseconds. */
export function isCompiled(schema: unknown): boolean {
  const key = keyOf(schema);
  return compiledKept.has(ownerOf.get(key) ?? '', key);
}

function compileValid(workspaceId: string, schema: unknown): CompiledSchema {
  const key = keyOf(schema);
  const kept = compiledKept.get(ownerOf.get(key) ?? '', key);
  if (kept !== undefined) return kept;
  const compiled = compile(schema, false);
  if (typeof compiled === 'string') throw new Error(`A schema that was never checked: ${compiled}`);
  compiledKept.set(workspaceId, key, compiled, compiled.bytes);
  ownerOf.set(key, workspaceId);
  return compiled;
}

/** Keys by schema, because the same object is used for many variables. */
const keysKept = new WeakMap<object, string>();

function keyOf(schema: unknown): string {
  if (typeof schema !== 'object' || schema === null) return String(schema);
  const key = keysKept.get(schema) ?? hash('sha256', JSON.stringify(schema));
  keysKept.set(schema, key);
  return key;
}

/** Values of variables with the defaults of their schema. The event loop receives them from a thread in one piece. */
const filledValuesMax = 50_000;
/** Characters of names and texts that defaults may add: a thread sends each as often as it is filled in. */
const filledCharactersMax = 4 * 1024 * 1024;

/**
 * Checks a copy of the variables and fills in defaults. The schema must have been validated before.
 * @throws TemplateLimitError when defaults add very many values or characters
 */
export function checkVariables(workspaceId: string, schema: unknown, given: unknown): CheckedVariables {
  const compiled = compileValid(workspaceId, schema);
  const variables: Record<string, unknown> = Object.assign({}, structuredClone(given));
  const faults = faultsIn(variables, compiled);
  if (!hasAtMostValues(variables, filledValuesMax) && hasAtMostValues(given, filledValuesMax)) {
    throw new TemplateLimitError(
      `With the defaults of the schema, the variables have over ${filledValuesMax} values`,
      'memory',
    );
  }
  if (charactersIn(variables) > charactersIn(given) + filledCharactersMax) {
    throw new TemplateLimitError(
      `The defaults of the schema add over ${filledCharactersMax} characters to the variables`,
      'memory',
    );
  }
  const defaulted = { paths: [], chars: 0 };
  collectDefaulted(given, variables, '', defaulted);
  return { variables, defaulted: defaulted.paths, faults };
}

/** Counts the characters of the names and texts of JSON. */
function charactersIn(root: unknown): number {
  let characters = 0;
  const open = [root];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value === 'string') characters += value.length;
    if (typeof value !== 'object' || value === null) continue;
    for (const [name, member] of Object.entries(value)) {
      characters += name.length;
      open.push(member);
    }
  }
  return characters;
}

function faultsIn(variables: unknown, { validate, functions }: CompiledSchema): Fault[] {
  try {
    const isValid: unknown = validate(variables);
    if (typeof isValid !== 'boolean') throw new Error('A schema was compiled to an asynchronous function');
    return isValid ? [] : (validate.errors ?? []).slice(0, faultsMax).map(faultOf);
  } finally {
    for (const each of functions) if (each.validate !== undefined) removeResult(each.validate);
  }
}

/** Removes the result of the last check, which can be larger than the validator. */
function removeResult(validate: AnyValidateFunction): void {
  validate.errors = null;
  if (validate.evaluated?.dynamicProps) delete validate.evaluated.props;
}

/**
 * Compiles with a new Ajv instance per schema, so that an `$id` cannot collide with another
 * workspace's and cannot be seen by it. `$async` at the root, of which stored schemas may have one, has no effect: Ajv
 * would return a promise. It refuses `$async` elsewhere, also behind a reference.
 */
function compile(schema: unknown, validateSchema: boolean, addUsedSchema = true): CompiledSchema | string {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return 'it is not an object';
  const functions: { validate?: AnyValidateFunction }[] = [];
  let characters = 0;
  const note = (code: string, compiled: (typeof functions)[number] = {}) => {
    functions.push(compiled);
    characters += code.length;
    return code;
  };
  const ajv = new Ajv2020({
    allErrors: true,
    useDefaults: true,
    ownProperties: true,
    strict: false,
    validateSchema: false,
    logger: false,
    addUsedSchema,
    multipleOfPrecision,
    code: { process: note },
  });
  addFormats.default(ajv);
  try {
    if (validateSchema) holdAgainstStandard(schema);
    const validate = ajv.compile({ ...schema, $async: false });
    // Keys and small objects of a schema take more than those of other values.
    const bytes = bytesPerInstance + bytesPerCharacter * characters + 2 * retainedBytesOf(schema);
    return { validate, functions, bytes };
  } catch (error) {
    // An `$id` of the standard itself, or one that comes twice: then the schema cannot be found by it.
    const isTaken = error instanceof Error && error.message.endsWith('already exists');
    return isTaken && addUsedSchema ? compile(schema, validateSchema, false) : reasonOf(error);
  }
}

function reasonOf(error: unknown): string {
  // The stack overflows.
  if (error instanceof RangeError) return 'it refers to itself without end';
  return error instanceof Error ? error.message.slice(0, 500) : 'it does not compile';
}

let standard: Ajv2020 | undefined;

/**
 * Validates a schema against the standard's own schema. All calls share one instance: it keeps none
 * of the schemas, and compiling the standard's own takes about 50 ms.
 * @throws Error with a readable message
 */
function holdAgainstStandard(schema: object): void {
  standard ??= new Ajv2020({ strict: false, logger: false });
  standard.validateSchema(schema, true);
}

function faultOf({ instancePath, keyword, message, params }: ErrorObject): Fault {
  const named: unknown = params.missingProperty ?? params.additionalProperty;
  const path = [
    ...instancePath.split('/').slice(1).map(unescapePointer),
    ...(typeof named === 'string' ? [named] : []),
  ];
  const dotted = path.map((segment) => (/^\d+$/.test(segment) ? `[${segment}]` : `.${segment}`)).join('');
  const allowed = Array.isArray(params.allowedValues) ? `: ${JSON.stringify(params.allowedValues).slice(0, 200)}` : '';
  const shown = (message ?? 'is not valid').slice(0, faultCharsMax);
  return { path: `variables${dotted}`.slice(0, faultCharsMax), code: keyword, message: `${shown}${allowed}` };
}

const unescapePointer = (segment: string) => segment.replaceAll('~1', '/').replaceAll('~0', '~');

const depthMax = 32;

function collectDefaulted(
  given: unknown,
  filled: unknown,
  path: string,
  into: { paths: string[]; chars: number },
  depth = 0,
): void {
  if (typeof filled !== 'object' || filled === null || Array.isArray(filled) || depth > depthMax) return;
  for (const [key, value] of Object.entries(filled)) {
    const own = path === '' ? key : `${path}.${key}`;
    const before: unknown =
      typeof given === 'object' && given !== null && Object.hasOwn(given, key) ? Reflect.get(given, key) : undefined;
    if (before === undefined && value !== undefined) {
      into.chars += own.length;
      if (into.chars > defaultedCharsMax) return;
      into.paths.push(own);
    } else collectDefaulted(before, value, own, into, depth + 1);
  }
}
