import { z } from 'zod';
import type { MetricScore } from './metric.ts';
import { parseJsonWithin } from './texts.ts';

export type Scale = readonly [number, number];

const reply = z.object({
  score: z.union([
    z.number(),
    z
      .string()
      .regex(/^-?\d+(?:\.\d+)?$/)
      .transform(Number),
  ]),
  reason: z.string().default(''),
});
const reasonCharsMax = 1_000;

/** Reads `{"score", "reason"}` of a judge. Returns undefined if there is no score on the scale. */
export function readJudgeReply(text: string, [least, most]: Scale): MetricScore | undefined {
  const parsed = reply.safeParse(parseJsonWithin(text));
  if (!parsed.success || parsed.data.score < least || parsed.data.score > most) return undefined;
  const score = (parsed.data.score - least) / (most - least);
  return { score, feedback: score === 1 ? '' : parsed.data.reason.slice(0, reasonCharsMax) };
}
