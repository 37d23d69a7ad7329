import { roll } from './rolls.ts';

/** How often a judge says the opposite of what is true. */
export const flips = 0.08;

/** Grades an output from 1 to 5 by comparing it with what is expected, and is wrong now and then. */
export function judgeOutput(request: string, seed: number): string {
  const expected = /expected[^:\n]*:\s*([^\n]+)/i.exec(request)?.[1]?.trim();
  const output = /output[^:\n]*:\s*([^\n]+)/i.exec(request)?.[1]?.trim();
  const isRight = (expected !== undefined && expected === output) !== roll('judge', seed, request) < flips;
  return JSON.stringify({ score: isRight ? 5 : 1, reason: isRight ? 'It is right.' : `It should be ${expected}.` });
}
