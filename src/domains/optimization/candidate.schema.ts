import { z } from 'zod';
import type { CandidateContent } from '../prompt-search/index.ts';
import type { RowScore, StoredCandidate } from './candidate-store.ts';

export const candidateStatuses = ['rejected_invalid', 'rejected_gate', 'raced_out', 'pool'] as const;
const origins = ['seed', 'reflect', 'restart', 'meta', 'demo'] as const;

const message = z.union([
  z.object({ role: z.string().meta({ example: 'user' }), content: z.string() }),
  z.object({ placeholder: z.string() }),
]);

/** The text of a candidate, in the fields of a prompt version. */
export const textFields = {
  template: z.string().optional().meta({ example: 'Answer {{question}} with one word.' }),
  messages: z.array(message).optional(),
};

export const valSchema = z.object({ mean: z.number(), n: z.int() });

export const candidateSchema = z
  .object({
    candidate_id: z.string().meta({ example: '3f9a1c07' }),
    id: z.string().meta({ description: 'The same as `candidate_id`', example: '3f9a1c07' }),
    parents: z.array(z.string()),
    origin: z.enum(origins).meta({ description: '`seed` is the prompt as it was' }),
    hypothesis: z.string().nullable().meta({ description: 'What the proposing model wanted to improve' }),
    status: z.enum(candidateStatuses),
    reject_reason: z.string().nullable(),
    iteration: z.int(),
    prompt_tokens: z.int().meta({ description: 'Tokens of the templates, about' }),
    ...textFields,
    minibatch: z
      .object({ before: z.number(), after: z.number() })
      .nullable()
      .meta({ description: 'Means of the parent and of the candidate on the batch' }),
    val: valSchema.nullable().meta({ description: 'On the validation rows, which chose it, so it is optimistic' }),
    rows: z
      .array(
        z.object({
          row_key: z.string(),
          split: z.enum(['train', 'val', 'holdout']),
          score: z.number().nullable().meta({ description: 'Null if every sample had an error' }),
        }),
      )
      .optional()
      .meta({ description: 'Scores by row, with `include=rows`' }),
  })
  .meta({ id: 'OptimizationCandidate' });

export const candidateDetailSchema = candidateSchema
  .extend({ diff: z.string().nullable().meta({ description: 'Unified diff from the prompt as it was' }) })
  .meta({ id: 'OptimizationCandidateDetail' });

/** Converts a candidate to its API form. */
export function candidateToWire(
  candidate: StoredCandidate,
  scores?: readonly RowScore[],
): z.infer<typeof candidateSchema> {
  const { id, parents, origin, hypothesis, status, iteration, minibatch, val } = candidate;
  return {
    ...{ candidate_id: id, id, parents: [...parents], origin, hypothesis, status, iteration, minibatch, val },
    ...{ reject_reason: candidate.rejectReason, prompt_tokens: candidate.promptTokens },
    ...textToWire(candidate.content),
    ...(scores && { rows: scores.map(({ rowKey, split, score }) => ({ row_key: rowKey, split, score })) }),
  };
}

/** Converts the text of a candidate to the fields of a prompt version. */
export function textToWire(content: CandidateContent) {
  return content.type === 'text' ? { template: content.template } : { messages: [...content.messages] };
}
