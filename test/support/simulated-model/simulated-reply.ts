import { answerRow } from './answer-row.ts';
import { judgeOutput } from './judge-output.ts';
import { proposeTemplate } from './propose-template.ts';
import type { SimulatedTask } from './simulated-task.ts';

/** The names of the simulated models, by what they do. */
export const models = { task: 'sim-task', reflect: 'sim-reflect', judge: 'sim-judge' } as const;
export type SimulatedKind = keyof typeof models;

export interface SimulatedRequest {
  model: string;
  /** The contents of all messages. */
  text: string;
  isJson: boolean;
}

/** Returns what a model of this name does, if there is one. */
export function kindOf(model: string): SimulatedKind | undefined {
  const kinds = Object.keys(models) as SimulatedKind[];
  return kinds.find((kind) => models[kind] === model);
}

/** Returns the text of a response. The same request, seed and sample give the same text. */
export function simulatedReply<F>(
  task: SimulatedTask<F>,
  { model, text, isJson }: SimulatedRequest,
  { seed, sample = 0 }: { seed: number; sample?: number },
): string {
  const replies: Record<SimulatedKind, () => string> = {
    task: () => answerRow(task, text, { seed, sample }),
    reflect: () => proposeTemplate(task, text, { seed, sample, isJson }),
    judge: () => judgeOutput(text, seed),
  };
  const kind = kindOf(model);
  if (kind === undefined) throw new Error(`There is no simulated model ${model}`);
  return replies[kind]();
}
