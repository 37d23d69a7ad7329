import { z } from 'zod';
import { type MetricScore, metricType } from './metric.ts';
import { quote, textOf } from './texts.ts';

const words = z.array(z.string().min(1).max(1_000)).max(100);

const options = z.strictObject({
  all: words.default([]).meta({ description: 'Texts that the output must contain' }),
  any: words.default([]).meta({ description: 'The output must contain at least one of them' }),
  none: words.default([]).meta({ description: 'Texts that the output must not contain' }),
  ignore_case: z.boolean().default(true),
});

/**
 * The share of conditions that hold. Without texts, the output must contain what is expected: a text,
 * or each of a list.
 */
export const contains = metricType({
  options,
  isApart: true,
  needsExpected: ({ all, any, none }) => all.length + any.length + none.length === 0,
  prepare: (given) => {
    const fold = (text: string) => (given.ignore_case ? text.toLowerCase() : text);
    const isEmpty = given.all.length + given.any.length + given.none.length === 0;
    return {
      kind: 'plain',
      score: ({ output, expected }) => {
        const folded = fold(output);
        const has = (text: string) => folded.includes(fold(text));
        const all = isEmpty ? listOf(expected) : given.all;
        return judge({
          missing: all.filter((text) => !has(text)),
          noneOf: given.any.length > 0 && !given.any.some(has) ? given.any : [],
          forbidden: given.none.filter(has),
          conditions: all.length + given.none.length + Math.min(1, given.any.length),
        });
      },
    };
  },
});

const listOf = (expected: unknown) => {
  if (expected === undefined) return [];
  return Array.isArray(expected) ? expected.map(textOf) : [textOf(expected)];
};

function judge(found: { missing: string[]; noneOf: string[]; forbidden: string[]; conditions: number }): MetricScore {
  const { missing, noneOf, forbidden, conditions } = found;
  const failed = missing.length + forbidden.length + Math.min(1, noneOf.length);
  const list = (texts: string[]) => texts.slice(0, 10).map(quote).join(', ');
  const faults = [
    ...(missing.length > 0 ? [`Missing: ${list(missing)}.`] : []),
    ...(noneOf.length > 0 ? [`Contains none of: ${list(noneOf)}.`] : []),
    ...(forbidden.length > 0 ? [`Forbidden present: ${list(forbidden)}.`] : []),
  ];
  return { score: conditions === 0 ? 1 : 1 - failed / conditions, feedback: faults.join(' ') };
}
