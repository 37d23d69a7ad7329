import { z } from 'zod';

const content = z
  .record(z.string(), z.looseObject({ schema: z.unknown().optional(), example: z.unknown().optional() }))
  .default({});

const operationSchema = z.looseObject({
  operationId: z.string(),
  summary: z.string(),
  description: z.string().optional(),
  tags: z.array(z.string()),
  security: z.array(z.record(z.string(), z.unknown())),
  'x-promptlane-access': z.looseObject({ scope: z.string().optional(), role: z.string().optional() }),
  parameters: z.array(
    z.looseObject({
      name: z.string(),
      in: z.string(),
      required: z.boolean(),
      description: z.string(),
      schema: z.unknown(),
      example: z.unknown(),
    }),
  ),
  requestBody: z.looseObject({ required: z.boolean(), content }).optional(),
  responses: z.record(
    z.string(),
    z.looseObject({
      description: z.string(),
      headers: z.record(z.string(), z.unknown()).default({}),
      content,
      'x-problem-codes': z.array(z.string()).default([]),
    }),
  ),
});

/** The fields of the OpenAPI document that the page uses. */
export const documentSchema = z.looseObject({
  info: z.looseObject({ title: z.string(), version: z.string(), description: z.string().default('') }),
  tags: z.array(z.looseObject({ name: z.string() })),
  paths: z.record(z.string(), z.record(z.string(), operationSchema)),
  components: z.looseObject({
    schemas: z.record(z.string(), z.unknown()),
    headers: z.record(z.string(), z.looseObject({ description: z.string() })),
  }),
  'x-problem-codes': z.record(z.string(), z.looseObject({ status: z.int(), title: z.string() })),
});

export type Document = z.output<typeof documentSchema>;
export type OperationOfDocument = z.output<typeof operationSchema>;
