import { z } from 'zod';
import { metricType } from './metric.ts';
import { quote, textOf } from './texts.ts';

const options = z.strictObject({
  trim: z.boolean().default(true),
  ignore_case: z.boolean().default(false),
  collapse_whitespace: z.boolean().default(false),
});

/** 1 if the output is the expected text, otherwise 0. */
export const exactMatch = metricType({
  options,
  needsExpected: () => true,
  prepare: (given) => {
    const normalize = (text: string) => {
      const trimmed = given.trim ? text.trim() : text;
      const collapsed = given.collapse_whitespace ? trimmed.replace(/\s+/g, ' ') : trimmed;
      return given.ignore_case ? collapsed.toLowerCase() : collapsed;
    };
    return {
      kind: 'plain',
      score: ({ output, expected }) =>
        normalize(output) === normalize(textOf(expected))
          ? { score: 1, feedback: '' }
          : { score: 0, feedback: `Expected ${quote(expected)} but got ${quote(output)}.` },
    };
  },
});
