import { z } from 'zod';
import { pageParams } from '../../http/pagination.ts';
import { jsonObject } from '../../lib/json-object.ts';
import { type FeedbackWire, feedbackTargets } from '../executions/index.ts';
import type { Feedback } from './feedback.ts';
import { feedbackLimits as limits, tokenTtlS } from './limits.ts';

const hexId = (digits: number) =>
  z
    .string()
    .regex(new RegExp(`^(?!0+$)[0-9a-fA-F]{${digits}}$`), `must be ${digits} hexadecimal digits that are not all zero`)
    .transform((id) => id.toLowerCase());
const id = z.string().min(1).max(limits.idCharsMax);
const text = (charsMax: number) => z.string().min(1).max(charsMax).nullish();
const version = z.int().min(1).max(2_147_483_647);

const metadata = jsonObject
  .refine(
    (given) => Object.keys(given).every((key) => key.length <= limits.metadataKeyCharsMax),
    `must have keys of at most ${limits.metadataKeyCharsMax} characters`,
  )
  .refine(
    (given) => Object.keys(given).length <= limits.metadataKeysMax,
    `must have at most ${limits.metadataKeysMax} keys`,
  )
  .refine((given) => hasDepth(given, limits.metadataDepthMax), `must have at most ${limits.metadataDepthMax} levels`);

export const feedbackBody = z
  .strictObject({
    project_id: z.string().min(1).max(64).optional().meta({
      description: 'Default: the project of the key or token; for a user, the default project of their workspace',
    }),
    feedback_token: z.string().max(512).optional().meta({
      description: 'A feedback token, for a request without credentials in its headers',
      example: 'fbt_7Zk3…',
    }),
    target_type: z.enum(feedbackTargets),
    trace_id: hexId(32).optional().meta({ description: 'The execution. It may arrive later' }),
    span_id: hexId(16).optional(),
    prompt_id: id.optional().meta({ description: 'The id or the slug of a prompt' }),
    prompt_version: version.optional(),
    session_id: id.optional(),
    name: z.string().min(1).max(limits.nameCharsMax).default('user_feedback').meta({
      description: 'Feedback with different names on the same target is kept side by side',
    }),
    value: z
      .union([z.number(), z.boolean(), z.string().min(1).max(limits.valueCharsMax)])
      .nullish()
      .meta({ example: 0.8 }),
    rating: z
      .union([z.enum(['up', 'down']), z.int().min(1).max(5)], {
        error: 'must be "up", "down" or a whole number from 1 to 5',
      })
      .nullish()
      .meta({ example: 'up' }),
    comment: text(limits.commentCharsMax),
    correction: text(limits.correctionCharsMax).meta({ description: 'The output that would have been right' }),
    user_id: id.optional().meta({ description: 'The end user whose feedback this is. Default: the signed-in user' }),
    metadata: metadata.nullish(),
  })
  .superRefine((body, context) => {
    for (const path of missingFields(body)) {
      context.addIssue({
        code: 'custom',
        path: [path],
        message: `is required for the target ${body.target_type}`,
        params: { code: 'required' },
      });
    }
    if (contentFields.every((field) => body[field] == null)) {
      const message = `one of ${contentFields.join(', ')} is required`;
      context.addIssue({ code: 'custom', path: [], message, params: { code: 'required' } });
    }
    if (body.prompt_version !== undefined && body.prompt_id === undefined) {
      context.addIssue({ code: 'custom', path: ['prompt_version'], message: 'needs prompt_id' });
    }
  })
  .meta({
    example: {
      target_type: 'execution',
      trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
      rating: 'up',
      comment: 'Exactly what I needed',
      user_id: 'user-42',
    },
  });

export type FeedbackBody = z.output<typeof feedbackBody>;

const contentFields = ['value', 'rating', 'comment', 'correction'] as const;

/** The fields that name each target. */
const fieldsOfTarget = {
  execution: ['trace_id'],
  span: ['trace_id', 'span_id'],
  prompt: ['prompt_id'],
  session: ['session_id'],
  product: [],
} as const;

function missingFields(body: {
  target_type: keyof typeof fieldsOfTarget;
  trace_id?: string | undefined;
  span_id?: string | undefined;
  prompt_id?: string | undefined;
  session_id?: string | undefined;
}): string[] {
  return fieldsOfTarget[body.target_type].filter((field) => body[field] === undefined);
}

const time = z.iso.datetime({ offset: true }).optional();

export const feedbackQuery = z.strictObject({
  ...pageParams,
  target_type: z.enum(feedbackTargets).optional().meta({ description: 'Feedback on targets of this type' }),
  trace_id: hexId(32).optional(),
  span_id: hexId(16).optional(),
  prompt_id: id.optional().meta({ description: 'The id of a prompt' }),
  session_id: id.optional(),
  user_id: id.optional().meta({ description: 'The end user whose feedback it is' }),
  name: z.string().min(1).max(limits.nameCharsMax).optional().meta({ description: 'Feedback with this name' }),
  from: time.meta({ description: 'Feedback that was first given at or after this time' }),
  to: time.meta({ description: 'Feedback that was first given before this time' }),
});

export const feedbackParams = z.strictObject({ project_id: z.string(), feedback_id: z.string().min(1).max(64) });

export const feedbackTokenBody = z.strictObject({
  trace_id: hexId(32),
  ttl_s: z.int().min(tokenTtlS.min).max(tokenTtlS.max).default(tokenTtlS.default).meta({
    description: 'Lifetime in seconds; default: 7 days',
  }),
});

export const feedbackTokenSchema = z
  .object({
    feedback_token: z.string().optional().meta({
      description: 'Only the first response contains it. A response repeated for `Idempotency-Key` does not.',
      example: 'fbt_7Zk3…',
    }),
    trace_id: z.string(),
    expires_at: z.iso.datetime(),
  })
  .meta({ id: 'FeedbackToken' });

/** Converts feedback to its API JSON; '' becomes null. */
export function feedbackToWire(feedback: Feedback): FeedbackWire {
  return {
    id: feedback.id,
    target_type: feedback.targetType,
    trace_id: feedback.traceId,
    span_id: feedback.spanId,
    prompt_id: feedback.promptId,
    prompt_version: feedback.promptVersion,
    session_id: feedback.sessionId,
    name: feedback.name,
    value: feedback.value,
    rating: feedback.rating,
    score: feedback.score,
    comment: feedback.comment,
    correction: feedback.correction,
    user_id: feedback.userId || null,
    metadata: feedback.metadata,
    author: feedback.author,
    created_at: feedback.createdAt.toISOString(),
    updated_at: feedback.updatedAt.toISOString(),
  };
}

/** The recursion is never deeper than the JSON of a body may be. */
function hasDepth(value: unknown, levelsMax: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return levelsMax > 0 && Object.values(value).every((item) => hasDepth(item, levelsMax - 1));
}
