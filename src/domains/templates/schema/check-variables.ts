import { hash } from 'node:crypto';
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { LRUCache } from 'lru-cache';
import type { Fault } from '../../../lib/errors.ts';

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
const compiledKept = new LRUCache<string, ValidateFunction | string>({ max: keptMax });

/**
 * Compiles a schema. Returns a validator, or the reason why the schema is invalid. A schema cannot
 * load anything from outside. Validating a schema against the standard's own schema may take long,
 * so it is done once, in a worker thread.
 */
export function compileSchema(schema: unknown, validateSchema: boolean): ValidateFunction | string {
  const key = keyOf(schema);
  const kept = compiledKept.get(key);
  if (kept !== undefined) return kept;
  const compiled = compile(schema, validateSchema);
  compiledKept.set(key, compiled);
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

/**
 * Checks a copy of the variables and fills in defaults. The schema must have been validated before.
 */
export function checkVariables(schema: unknown, given: unknown): CheckedVariables {
  const validate = compileSchema(schema, false);
  if (typeof validate === 'string') throw new Error(`A schema that was never checked: ${validate}`);
  const variables: Record<string, unknown> = Object.assign({}, structuredClone(given));
  const valid = validate(variables);
  const faults = valid ? [] : (validate.errors ?? []).slice(0, faultsMax).map(faultOf);
  const defaulted = { paths: [], chars: 0 };
  collectDefaulted(given, variables, '', defaulted);
  return { variables, defaulted: defaulted.paths, faults };
}

/**
 * Compiles with a new Ajv instance per schema, so that an `$id` cannot collide with another
 * workspace's and cannot be seen by it.
 */
function compile(schema: unknown, validateSchema: boolean): ValidateFunction | string {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return 'it is not an object';
  const ajv = new Ajv2020({
    allErrors: true,
    useDefaults: true,
    ownProperties: true,
    strict: false,
    validateSchema: false,
    logger: false,
    addUsedSchema: false,
  });
  addFormats.default(ajv);
  try {
    if (validateSchema) holdAgainstStandard(schema);
    return ajv.compile(schema);
  } catch (error) {
    return error instanceof Error ? error.message.slice(0, 500) : 'it does not compile';
  }
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
