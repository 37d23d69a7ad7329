import { roll } from './rolls.ts';

/** Something that a prompt may say. It holds if the prompt has all words of one of the phrasings. */
export interface Statement {
  id: string;
  say: string;
  /** Each phrasing is a list of words, in lower case. */
  phrasings: readonly (readonly string[])[];
}

/** A row as it stands in a prompt. */
export interface FoundRow<Facts> {
  /** Equal for equal rows. */
  key: string;
  text: string;
  /** Where the text ends. */
  end: number;
  facts: Facts;
}

/**
 * A task with hidden rules. The simulated model follows a rule only if its prompt states it. The
 * simulated reflection model finds a rule only from rows that need it and that it is shown.
 */
export interface SimulatedTask<Facts = never> {
  name: string;
  variable: string;
  /** A prompt that states no rule. */
  seedTemplate: string;
  rules: readonly Statement[];
  /** Statements that look sensible and help nobody. Some of them do harm. */
  lures: readonly Statement[];
  /** The share of responses that are wrong whatever the prompt says. */
  noise: number;
  /** Tokens of instructions above which the model forgets some of them. */
  tokensMax: number;
  rowText(index: number, seed: number): string;
  findRows(text: string): FoundRow<Facts>[];
  /** The ids of the rules that a row needs. */
  needs(facts: Facts): readonly string[];
  /** The answer of a model that follows these statements. */
  answer(facts: Facts, follows: ReadonlySet<string>): string;
}

/** Returns the ids of all statements of a task that a text makes. */
export function statedIn<F>({ rules, lures }: SimulatedTask<F>, text: string): Set<string> {
  const folded = text.toLowerCase();
  const holds = ({ phrasings }: Statement) => phrasings.some((words) => words.every((word) => folded.includes(word)));
  return new Set([...rules, ...lures].filter(holds).map(({ id }) => id));
}

/** Returns the right answer to a row. */
export function truthOf<F>(task: SimulatedTask<F>, facts: F): string {
  return task.answer(facts, new Set(task.rules.map(({ id }) => id)));
}

/** Returns rows with what is expected. */
export function rowsOf<F>(
  task: SimulatedTask<F>,
  count: number,
  seed = 1,
): { inputs: Record<string, string>; expected: string }[] {
  return Array.from({ length: count }, (_, index) => {
    const text = task.rowText(index, seed);
    const [row] = task.findRows(text);
    if (row === undefined) throw new Error(`${task.name}: the text of a row is not found in ${text}`);
    return { inputs: { [task.variable]: text }, expected: truthOf(task, row.facts) };
  });
}

/** Returns a prompt that states all rules of a task. */
export function perfectTemplate<F>({ seedTemplate, rules }: SimulatedTask<F>): string {
  return [...rules.map(({ say }) => `- ${say}`), seedTemplate].join('\n');
}

/** Returns whether a response is wrong for no reason. The same prompt always gives the same. */
export const isNoisy = (noise: number, ...parts: readonly (string | number)[]) => roll('noise', ...parts) < noise;
