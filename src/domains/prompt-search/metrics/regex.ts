import { z } from 'zod';
import { compileLinear, patternCharsMax } from './linear-regex.ts';
import { InvalidMetricError, metricType } from './metric.ts';
import { quote } from './texts.ts';

const options = z.strictObject({
  pattern: z.string().min(1).max(patternCharsMax).meta({ description: 'A pattern in the syntax of RE2' }),
  mode: z
    .enum(['full', 'partial'])
    .default('partial')
    .meta({ description: 'What must match: the whole output, or a part' }),
  ignore_case: z.boolean().default(false),
  trim: z.boolean().default(true),
});

/** Characters of an output that are searched. */
const searchedCharsMax = 100_000;

/** 1 if the output matches a pattern, otherwise 0. */
export const regex = metricType({
  options,
  isApart: true,
  prepare: ({ pattern, mode, ignore_case: ignoreCase, trim }) => {
    const compiled = compileLinear(pattern, ignoreCase);
    if (typeof compiled === 'string') throw new InvalidMetricError(compiled, 'pattern');
    return {
      kind: 'plain',
      score: ({ output }) => {
        const text = (trim ? output.trim() : output).slice(0, searchedCharsMax);
        const matches = mode === 'full' ? compiled.testExact(text) : compiled.test(text);
        if (matches) return { score: 1, feedback: '' };
        return { score: 0, feedback: `Output does not match /${pattern}/; got ${quote(output)}.` };
      },
    };
  },
});
