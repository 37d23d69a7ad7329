import { z } from 'zod';
import { metricType } from './metric.ts';
import { quote, shorten, textOf } from './texts.ts';

const options = z.strictObject({
  abs_tolerance: z.number().min(0).default(0),
  rel_tolerance: z.number().min(0).default(0).meta({ description: 'Share of the expected value' }),
  decay: z
    .number()
    .positive()
    .nullable()
    .default(null)
    .meta({ description: 'Beyond the tolerance, the score falls to 0 over this distance; null: at once' }),
});

/** 1 if the last number of the output is the expected one, within a tolerance. */
export const numeric = metricType({
  options,
  needsExpected: () => true,
  prepare: (given) => ({
    kind: 'plain',
    score: ({ output, expected }) => {
      const wanted = lastNumber(textOf(expected));
      const got = lastNumber(output);
      if (wanted === undefined || got === undefined) {
        return { score: 0, feedback: `Expected the number ${shorten(textOf(expected))}, got ${quote(output)}.` };
      }
      const tolerance = Math.max(given.abs_tolerance, given.rel_tolerance * Math.abs(wanted));
      const off = Math.abs(got - wanted);
      // Decimals such as 0.1 + 0.2 are off by their rounding.
      if (off <= tolerance + Number.EPSILON * 4 * Math.abs(wanted)) return { score: 1, feedback: '' };
      const score = given.decay === null ? 0 : Math.max(0, 1 - (off - tolerance) / given.decay);
      return { score, feedback: `Expected ${wanted}±${tolerance}, got ${got} (off by ${Number(off.toPrecision(6))}).` };
    },
  }),
});

/** Returns the last number of a text, with or without separators of thousands. */
export function lastNumber(text: string): number | undefined {
  const found = text
    .slice(-searchedCharsMax)
    .match(/(?<![\d.])-?(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?/g);
  const number = Number(found?.at(-1)?.replaceAll(',', '') ?? Number.NaN);
  return Number.isFinite(number) ? number : undefined;
}

const searchedCharsMax = 10_000;
