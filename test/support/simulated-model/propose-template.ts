import { pickOne, rolls } from './rolls.ts';
import { type SimulatedTask, type Statement, statedIn, truthOf } from './simulated-task.ts';

/** How often a proposal has a fault, of each kind. */
export const hazards = {
  refusal: 0.03,
  malformed: 0.03,
  lure: 0.3,
  copiedRow: 0.12,
  lostRule: 0.1,
  lostVariable: 0.06,
  newVariable: 0.03,
} as const;

/** How often a rule is found from a row that needs it, and by how much less without an expected value. */
const learns = 0.5;
const learnsUnseen = 0.15;
const learnedMax = 2;
/** Characters behind a row in which its expected value is looked for. */
const shownChars = 900;

export interface Reflection {
  seed: number;
  sample: number;
  isJson: boolean;
}

/**
 * Returns a changed template as a reflection model would: it finds rules from the rows that the request
 * shows with their expected values, and makes mistakes.
 */
export function proposeTemplate<F>(task: SimulatedTask<F>, request: string, given: Reflection): string {
  const draw = rolls('reflect', given.seed, request, given.sample);
  if (draw() < hazards.refusal) return 'I cannot help with that.';
  const { template, rest } = splitRequest(task, request);
  const lines = changeLines(task, { template, rest, draw });
  const text = spoilVariables(lines.join('\n'), task.variable, draw);
  if (draw() < hazards.malformed) return `{"hypothesis": "cut off", "template": "${text.slice(0, 20)}`;
  const hypothesis = 'The prompt does not state all rules.';
  return given.isJson ? JSON.stringify({ hypothesis, template: text }) : `${hypothesis}\n\n\`\`\`\n${text}\n\`\`\`\n`;
}

interface Change {
  template: string;
  rest: string;
  draw: () => number;
}

function changeLines<F>(task: SimulatedTask<F>, { template, rest, draw }: Change): string[] {
  const stated = statedIn(task, template);
  const rows = task.findRows(rest);
  const learned = findRules(task, { rest, stated, draw });
  if (draw() < hazards.lure && task.lures[0] !== undefined) {
    learned.push(pickOne(task.lures as [Statement, ...Statement[]], draw()));
  }
  const lines = template.split('\n');
  const rules = lines.filter((line) => line.startsWith('- '));
  if (draw() < hazards.lostRule && rules[0] !== undefined) {
    lines.splice(lines.indexOf(pickOne(rules as [string, ...string[]], draw())), 1);
  }
  const before = Math.max(
    0,
    lines.findIndex((line) => line.includes(`{{${task.variable}}}`)),
  );
  lines.splice(before, 0, ...learned.filter(({ id }) => !stated.has(id)).map(({ say }) => `- ${say}`));
  const [row] = rows;
  if (draw() < hazards.copiedRow && row !== undefined) {
    lines.splice(before, 0, `Example: ${row.text}`, `Answer: ${truthOf(task, row.facts)}`);
  }
  return lines;
}

function findRules<F>(
  task: SimulatedTask<F>,
  given: { rest: string; stated: Set<string>; draw: () => number },
): Statement[] {
  const { rest, stated, draw } = given;
  const chances = new Map<string, number>();
  for (const { end, facts } of task.findRows(rest)) {
    const isShown = rest.slice(end, end + shownChars).includes(truthOf(task, facts));
    for (const id of task.needs(facts)) {
      if (!stated.has(id)) chances.set(id, Math.max(chances.get(id) ?? 0, learns * (isShown ? 1 : learnsUnseen)));
    }
  }
  // What an earlier reply states in words is understood.
  for (const id of statedIn(task, rest)) if (!stated.has(id)) chances.set(id, 0.9);
  const found = task.rules.filter(({ id }) => draw() < (chances.get(id) ?? 0));
  return found.slice(0, learnedMax);
}

function spoilVariables(text: string, variable: string, draw: () => number): string {
  const kept = draw() < hazards.lostVariable ? text.replaceAll(`{{${variable}}}`, 'the input above') : text;
  return draw() < hazards.newVariable ? `${kept}\nContext: {{context}}` : kept;
}

/** Finds the template: what stands in a fence, a tag or a JSON string around the first variable. */
function splitRequest<F>({ variable, seedTemplate }: SimulatedTask<F>, request: string) {
  const at = request.indexOf(`{{${variable}}}`);
  const open = request.lastIndexOf('```', at);
  const close = request.indexOf('```', at);
  if (at < 0 || open < 0 || close < 0) return { template: seedTemplate, rest: request };
  const start = request.indexOf('\n', open) + 1;
  return { template: request.slice(start, close).trim(), rest: request.slice(0, start) + request.slice(close) };
}
