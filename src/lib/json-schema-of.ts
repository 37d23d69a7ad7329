import { z } from 'zod';

/** Returns the JSON Schema of what a request may send, to document values that other code validates. */
export function jsonSchemaOf(schema: z.ZodType): object {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return json;
}
