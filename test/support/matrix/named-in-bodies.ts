import { z } from 'zod';
import type { Contract } from '../../../src/http/endpoint.ts';

/**
 * Fields of bodies that name a resource, and the effect of a foreign name. A field that is not
 * listed fails the matrix.
 */
export const namingFields: Readonly<Record<string, 'looked up' | 'words of the client'>> = {
  'validatePrompt compare_to.prompt_id': 'looked up',
  // The slug of the drafted part, which is used to find cycles. A slug that no part has is also valid.
  'validatePrompt part_slug': 'looked up',
  // Another tenant's project gets the response of one that does not exist, and so does a prompt.
  'createFeedback project_id': 'looked up',
  'createFeedback prompt_id': 'looked up',
  // Another project's webhook gets the response of one that does not exist; see put-budget.test.ts.
  'putBudget notify.webhook_ids': 'looked up',
  // A candidate belongs to the run that the path names.
  'applyOptimizationRun candidate_id': 'looked up',
  // Feedback may come before its trace. It is stored in its own project.
  'createFeedback trace_id': 'words of the client',
  'createFeedback span_id': 'words of the client',
  'createFeedback session_id': 'words of the client',
  'createFeedback user_id': 'words of the client',
  'createFeedbackToken trace_id': 'words of the client',
  // Spans may contain any value. When a span is stored, prompts are looked up in its own project.
  'createExecution prompt_id': 'words of the client',
  'createExecution trace_id': 'words of the client',
  'createExecution session_id': 'words of the client',
  'createExecution user_id': 'words of the client',
  'createExecution span_id': 'words of the client',
  'createExecution spans[].prompt_id': 'words of the client',
  'createExecution spans[].span_id': 'words of the client',
  'createExecution spans[].parent_span_id': 'words of the client',
  'createExecution spans[].session_id': 'words of the client',
  'createExecution spans[].user_id': 'words of the client',
};

/**
 * Returns `<operation> <path of the field>` for every id and slug in a body, except the slug of the
 * new item itself.
 */
export function namingFieldsOf({ operationId, body }: Pick<Contract, 'operationId' | 'body'>): string[] {
  if (body === undefined) return [];
  const schema = jsonSchema.parse(z.toJSONSchema(body, { io: 'input', unrepresentable: 'any' }));
  return [...new Set(fieldsIn(schema, schema, ''))]
    .filter((path) => /(_id|_ids|_slug)$/.test(path))
    .map((path) => `${operationId} ${path}`);
}

const jsonSchema = z.record(z.string(), z.unknown());

function fieldsIn(root: z.infer<typeof jsonSchema>, given: unknown, path: string): string[] {
  const parsed = jsonSchema.safeParse(given);
  if (!parsed.success) return [];
  const { $ref, properties, items, anyOf, oneOf, allOf } = parsed.data;
  const found: string[] = [];
  if (typeof $ref === 'string') {
    const target = $ref
      .split('/')
      .slice(1)
      .reduce<unknown>((at, key) => jsonSchema.safeParse(at).data?.[key], root);
    found.push(...fieldsIn(root, target, path));
  }
  for (const [name, schema] of Object.entries(jsonSchema.safeParse(properties).data ?? {})) {
    const below = path === '' ? name : `${path}.${name}`;
    found.push(below, ...fieldsIn(root, schema, below));
  }
  if (items !== undefined) found.push(...fieldsIn(root, items, `${path}[]`));
  for (const branch of [anyOf, oneOf, allOf].flat()) found.push(...fieldsIn(root, branch, path));
  return found;
}
