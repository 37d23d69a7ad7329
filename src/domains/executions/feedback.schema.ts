import { z } from 'zod';

/** What feedback is about. Feedback on the product is not about executions. */
export const feedbackTargets = ['execution', 'span', 'prompt', 'session', 'product'] as const;

/** One feedback as responses contain it: its own, and those of executions. */
export const feedbackSchema = z
  .object({
    id: z.string().meta({ example: 'fbk_01k0w2n3t4v5x6y7z8a9b0c1d2' }),
    target_type: z.enum(feedbackTargets),
    trace_id: z.string().nullable(),
    span_id: z.string().nullable(),
    prompt_id: z.string().nullable(),
    prompt_version: z.int().nullable(),
    session_id: z.string().nullable(),
    name: z.string().meta({ example: 'user_feedback' }),
    value: z.union([z.number(), z.boolean(), z.string()]).nullable().meta({ example: 0.8 }),
    rating: z
      .union([z.enum(['up', 'down']), z.int().min(1).max(5)])
      .nullable()
      .meta({ example: 'up' }),
    score: z
      .number()
      .nullable()
      .meta({
        description:
          'The rating, else the value, from 0 to 1: `up` and true are 1, `down` and false are 0, and 1 to 5 are (n - 1) / 4. ' +
          'Null for a text and for a number outside 0 to 1',
      }),
    comment: z.string().nullable(),
    correction: z.string().nullable().meta({ description: 'The output that would have been right' }),
    user_id: z.string().nullable().meta({ description: 'The end user whose feedback this is' }),
    metadata: z.record(z.string(), z.unknown()).nullable(),
    author: z
      .object({ type: z.enum(['api_key', 'user', 'admin', 'feedback_token']), id: z.string().nullable() })
      .meta({ description: 'The credential of the last change' }),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: 'Feedback' });

export type FeedbackWire = z.infer<typeof feedbackSchema>;
