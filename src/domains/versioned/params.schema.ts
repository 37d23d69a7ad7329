import { z } from 'zod';
import { jsonObject } from '../../lib/json-object.ts';
import { hasAtMostValues } from '../../lib/json-values.ts';

export const projectParams = z.strictObject({ project_id: z.string().min(1).max(64) });

export const versionMax = 2_147_483_647;
export const versionNumber = z.int().min(1).max(versionMax).meta({ example: 3 });

export const itemLimits = {
  /**
   * Strings, numbers, lists and objects in one JSON field of a version. Hashing, comparing and
   * copying this many takes about 20 ms.
   */
  jsonValuesMax: 10_000,
  /** Bytes of such a field as JSON. */
  jsonBytesMax: 262_144,
  labelsMax: 50,
} as const;

/** A free-form JSON object that is part of a version. */
export const contentJson = jsonObject
  .refine((value) => hasAtMostValues(value, itemLimits.jsonValuesMax), {
    error: `must have at most ${itemLimits.jsonValuesMax} values`,
    // The bytes of more values are not counted, which would take long.
    abort: true,
  })
  .refine(
    (value) => Buffer.byteLength(JSON.stringify(value)) <= itemLimits.jsonBytesMax,
    `must have at most ${itemLimits.jsonBytesMax} bytes as JSON`,
  );

export const labelName = z
  .string()
  .regex(
    /^[a-z][a-z0-9_.-]{0,35}$/,
    'must begin with a lower-case letter, followed by at most 35 of the characters a-z, 0-9, _, . and -',
  )
  .refine((label) => label !== 'latest', 'is reserved: latest always means the newest version')
  .meta({ description: 'A label', example: 'production' });
