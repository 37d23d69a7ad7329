import { roll, tokensOf } from './rolls.ts';
import { isNoisy, type SimulatedTask, statedIn } from './simulated-task.ts';

/** The text of an answer that follows an example in a prompt. */
const answerOfExample = /^\s*(?:(?:output|answer|queue)\s*:|=>|→)\s*([^\n]+)/i;
/** How often an example with its answer teaches a rule that it needs. */
const examplesTeach = 0.35;

export interface Sampling {
  seed: number;
  /** Differs between samples of one prompt; 0 at temperature 0. */
  sample: number;
}

/**
 * Answers the last row of a prompt. The rules that the prompt states hold, and for some rows those that
 * its examples show. A row that the prompt has as an example gets the answer of the example. Of long
 * instructions some are forgotten.
 */
export function answerRow<F>(task: SimulatedTask<F>, prompt: string, { seed, sample }: Sampling): string {
  const rows = task.findRows(prompt);
  const asked = rows.at(-1);
  if (asked === undefined) return 'Please give me the input.';
  const follows = statedIn(task, prompt.replace(asked.text, ''));
  for (const example of rows.slice(0, -1)) {
    const shown = answerOfExample.exec(prompt.slice(example.end, example.end + 200))?.[1]?.trim();
    if (shown === undefined) continue;
    if (example.key === asked.key) return shown;
    for (const id of task.needs(example.facts)) {
      if (roll('example', seed, id, asked.key) < examplesTeach) follows.add(id);
    }
  }
  const over = tokensOf(prompt) - tokensOf(asked.text) - task.tokensMax;
  const forgets = Math.min(0.6, (0.6 * Math.max(0, over)) / task.tokensMax);
  for (const id of [...follows]) if (roll('forgets', seed, id, asked.key) < forgets) follows.delete(id);
  const answer = task.answer(asked.facts, follows);
  return isNoisy(task.noise, seed, prompt, sample) ? `${answer}?` : answer;
}
