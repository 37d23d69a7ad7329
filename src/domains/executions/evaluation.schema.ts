import { z } from 'zod';
import { asArray, asRecord } from './any-value-plain.ts';

/** A judgement that came with a span: of the span itself, or of the trace or session it belongs to. */
export const evaluationSchema = z.object({
  name: z.string().nullable(),
  target: z.enum(['span', 'trace', 'session']),
  score: z.number().nullable(),
  label: z.string().nullable(),
  explanation: z.string().nullable(),
  annotator_kind: z.string().nullable().meta({ description: 'Such as HUMAN, LLM or CODE' }),
  identifier: z.string().nullable(),
  metadata: z.record(z.string(), z.unknown()).nullable(),
  response_id: z.string().nullable(),
});

const members = Object.keys(evaluationSchema.shape);

/** The stored JSON list, '' for none, in which members that were not sent are absent. */
export function evaluationsToWire(json: string): z.infer<typeof evaluationSchema>[] {
  const stored = json === '' ? [] : asArray(JSON.parse(json));
  return stored.map((each) =>
    evaluationSchema.parse(Object.fromEntries(members.map((member) => [member, asRecord(each)[member] ?? null]))),
  );
}
