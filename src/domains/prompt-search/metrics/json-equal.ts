import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { metricType } from './metric.ts';
import { parseJson, quote, shorten } from './texts.ts';

const options = z.strictObject({
  field_weights: z
    .record(z.string().max(200), z.number().min(0).max(1_000))
    .default({})
    .meta({ description: 'Weights of top-level fields; 1 for a field that is not named' }),
  ignore_extra: z.boolean().default(true).meta({ description: 'Whether the output may have further fields' }),
});

const faultsMax = 5;

/** The weight of the fields that are as expected, as a share of all. A value that is no object counts as one field. */
export const jsonEqual = metricType({
  options,
  needsExpected: () => true,
  isApart: true,
  prepare: (given) => ({
    kind: 'plain',
    score: ({ output, expected }) => {
      const wanted = typeof expected === 'string' ? (parseJson(expected) ?? expected) : expected;
      const got = parseJson(output);
      if (got === undefined) return { score: 0, feedback: `Output is not JSON; got ${quote(output)}.` };
      if (!isFields(wanted) || !isFields(got)) {
        if (isDeepStrictEqual(got, wanted)) return { score: 1, feedback: '' };
        return { score: 0, feedback: `Expected ${quote(wanted)} but got ${quote(got)}.` };
      }
      const extra = given.ignore_extra ? [] : Object.keys(got).filter((name) => !Object.hasOwn(wanted, name));
      const wrong = Object.keys(wanted).filter(
        (name) => !Object.hasOwn(got, name) || !isDeepStrictEqual(got[name], wanted[name]),
      );
      const weigh = (names: string[]) => names.reduce((sum, name) => sum + weightOf(given.field_weights, name), 0);
      const all = weigh([...Object.keys(wanted), ...extra]);
      const faults = [
        ...wrong.slice(0, faultsMax).map((name) => {
          const value = shorten(JSON.stringify(wanted[name]));
          return `field ${shorten(name)}: expected ${value} got ${shown(got, name)}`;
        }),
        ...extra.slice(0, faultsMax).map((name) => `field ${shorten(name)} is not expected`),
      ];
      return {
        score: all === 0 ? 1 : 1 - weigh([...wrong, ...extra]) / all,
        feedback: faults.slice(0, faultsMax).join('; '),
      };
    },
  }),
});

/** A field may be named as a member that every object inherits, such as `constructor`. */
const weightOf = (weights: Readonly<Record<string, number>>, name: string) =>
  Object.hasOwn(weights, name) ? (weights[name] ?? 1) : 1;

const isFields = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const shown = (got: Record<string, unknown>, name: string) =>
  Object.hasOwn(got, name) ? (JSON.stringify(got[name]) ?? '').slice(0, 200) : 'nothing';
