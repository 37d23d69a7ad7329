import { z } from 'zod';
import { compileBoundSchema } from './bound-schema.ts';
import { InvalidMetricError, metricType } from './metric.ts';
import { parseJson, quote } from './texts.ts';

const options = z.strictObject({
  schema: z
    .record(z.string(), z.unknown())
    .meta({ description: 'JSON Schema 2020-12, without references to other documents' }),
  partial: z
    .boolean()
    .default(false)
    .meta({ description: 'Score the share of required top-level fields that are valid' }),
});

const faultsMax = 5;

/** 0 if the output is not JSON. Otherwise 1 if it is valid, else 0, or the share of valid required fields. */
export const jsonSchema = metricType({
  options,
  isApart: true,
  prepare: ({ schema, partial }) => {
    const compiled = compileBoundSchema(schema);
    if (typeof compiled === 'string') throw new InvalidMetricError(compiled, 'schema');
    const required = Array.isArray(schema.required) ? schema.required.filter((name) => typeof name === 'string') : [];
    return {
      kind: 'plain',
      score: ({ output }) => {
        const value = parseJson(output);
        if (value === undefined) return { score: 0, feedback: `Output is not JSON; got ${quote(output)}.` };
        const faults = compiled(value);
        if (faults.length === 0) return { score: 1, feedback: '' };
        const wrong = new Set(faults.map(({ field }) => field));
        const share =
          required.length === 0 ? 0 : 1 - required.filter((name) => wrong.has(name)).length / required.length;
        const shown = faults.slice(0, faultsMax).map(({ path, message }) => `${path}: ${message}`);
        return { score: partial && !wrong.has('') ? share : 0, feedback: shown.join('; ') };
      },
    };
  },
});
