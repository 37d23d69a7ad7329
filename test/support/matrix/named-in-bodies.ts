import { z } from 'zod';
import type { Contract } from '../../../src/http/endpoint.ts';

/**
 * Fields of bodies by which something is named, and what a foreign name would come to. A field
 * without a line fails the matrix.
 */
export const namingFields: Readonly<Record<string, 'looked up' | 'words of the client'>> = {
  'validatePrompt compare_to.prompt_id': 'looked up',
  // Whose draft it is, so that a cycle shows: a slug that nothing has yet is as good.
  'validatePrompt part_slug': 'looked up',
  // Spans say what they like; prompts are looked up in the span's own project when it is stored.
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
 * `<operation> <path of the field>` of everything in a body that is called an id or a slug, except
 * the new item's own slug.
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
