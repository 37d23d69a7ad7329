import { z } from 'zod';
import { isObject } from './json-values.ts';

/** The schema of an object whose keys are data of users. `z.record` would drop a key `__proto__`. */
export const jsonObject = z
  .custom<Record<string, unknown>>(isObject, { error: 'must be an object', abort: true })
  .meta({ type: 'object', additionalProperties: true });
