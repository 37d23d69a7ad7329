import { z } from 'zod';
import { jsonObject } from '../../lib/json-object.ts';
import { asArray, asRecord } from './any-value-plain.ts';

/** An evaluation that was sent with a span. It judges the span itself, its trace or its session. */
export const evaluationSchema = z
  .object({
    name: z.string().nullable(),
    target: z.enum(['span', 'trace', 'session']),
    score: z.number().nullable(),
    label: z.string().nullable(),
    explanation: z.string().nullable(),
    annotator_kind: z
      .string()
      .nullable()
      .meta({ description: 'The kind of annotator, for example HUMAN, LLM or CODE' }),
    identifier: z.string().nullable(),
    metadata: jsonObject.nullable(),
    response_id: z.string().nullable(),
  })
  .meta({ id: 'Evaluation' });

const members = Object.keys(evaluationSchema.shape);

/**
 * Converts the stored JSON list to API JSON. '' is an empty list; a member that was not sent
 * becomes null.
 */
export function evaluationsToWire(json: string): z.infer<typeof evaluationSchema>[] {
  const stored = json === '' ? [] : asArray(JSON.parse(json));
  return stored.map((each) =>
    evaluationSchema.parse(Object.fromEntries(members.map((member) => [member, asRecord(each)[member] ?? null]))),
  );
}
