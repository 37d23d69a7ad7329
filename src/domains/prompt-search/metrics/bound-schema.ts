import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { hasAtMostValues, multipleOfPrecision } from '../../../lib/json-values.ts';
import { compileLinear } from './linear-regex.ts';
import { checksPerValue } from './schema-cost.ts';

/** A fault of a value: the top-level field it is in ('' for the value itself), its path and a message. */
export interface SchemaFault {
  field: string;
  path: string;
  message: string;
}

const valuesMax = 2_000;
const checksMax = 1_000;

/**
 * Compiles a schema whose check takes a bound time: patterns run on a linear engine, schema and values
 * are small, and a value is checked by at most 1,000 subschemas. Nothing is loaded from outside.
 * @returns a function that returns the faults of a value, or why the schema is invalid
 */
export function compileBoundSchema(schema: Record<string, unknown>): ((value: unknown) => SchemaFault[]) | string {
  if (!hasAtMostValues(schema, valuesMax)) return `it has more than ${valuesMax} values`;
  if (checksPerValue(schema, checksMax) > checksMax) return `its references check a value more than ${checksMax} times`;
  try {
    const options = {
      allErrors: true,
      ownProperties: true,
      strict: false,
      logger: false,
      multipleOfPrecision,
    } as const;
    const ajv = new Ajv2020({ ...options, code: { regExp } });
    addFormats.default(ajv, { mode: 'fast' });
    const validate = ajv.compile(schema);
    return (value) => {
      if (!hasAtMostValues(value, valuesMax))
        return [{ field: '', path: '/', message: `has over ${valuesMax} values` }];
      return validate(value) ? [] : (validate.errors ?? []).map(faultOf);
    };
  } catch (error) {
    return error instanceof Error ? error.message.slice(0, 500) : 'it does not compile';
  }
}

/** Ajv prints `code` only into standalone modules, which are not used here. */
const regExp = Object.assign(
  (pattern: string) => {
    const compiled = compileLinear(pattern, false);
    if (typeof compiled === 'string') throw new Error(`pattern ${JSON.stringify(pattern)}: ${compiled}`);
    return { test: (text: string) => compiled.test(text) };
  },
  { code: 'new RegExp' },
);

function faultOf({ instancePath, message = 'is not valid', params }: ErrorObject): SchemaFault {
  const named: unknown = params.missingProperty ?? params.additionalProperty;
  const path = typeof named === 'string' ? `${instancePath}/${named}` : instancePath;
  return { field: path.split('/')[1] ?? '', path: path === '' ? '/' : path, message };
}
