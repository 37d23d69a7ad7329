import { z } from 'zod';
import { mapInSlices } from '../../lib/pace.ts';
import { listProblemCodes } from '../../lib/problem-codes.ts';
import type { Contract } from '../endpoint.ts';
import { statusByKind } from '../problem.ts';
import { headerComponents } from './headers.ts';
import type { JsonObject, KnownFields } from './json-object.ts';
import { operation } from './operation.ts';
import { shareRepeated } from './repeated.ts';
import { createSchemaRegistry } from './schemas.ts';

/**
 * Builds an OpenAPI 3.1 document from the contracts, with the schemas that validate requests and
 * the codes that errors carry. Works in slices, because all operations together take longer than
 * other work should wait.
 * @param knownFields descriptions and examples of fields and parameters that mean the same
 * everywhere
 */
export async function openApiDocument({
  title,
  version,
  description,
  contracts,
  knownFields = {},
  leastRoleOf = () => undefined,
}: {
  title: string;
  version: string;
  description?: string;
  contracts: readonly Contract[];
  knownFields?: KnownFields;
  /** Returns the lowest role that allows a user to do what a key needs the scope for. */
  leastRoleOf?: (scope: string) => string | undefined;
}): Promise<JsonObject> {
  const schemas = createSchemaRegistry(knownFields);
  schemas.convert(problemSchema, 'output', 'Problem');
  const built = await mapInSlices(contracts, (contract) => operation(contract, schemas, leastRoleOf));
  const { operations, components } = shareRepeated(built);
  const paths: Record<string, JsonObject> = {};
  for (const [index, { path, method }] of contracts.entries()) {
    paths[path] = { ...paths[path], [method.toLowerCase()]: operations[index] };
  }
  return {
    openapi: '3.1.0',
    info: { title, version, ...(description === undefined ? {} : { description }) },
    servers: [{ url: '/' }],
    tags: [...new Set(contracts.map((contract) => contract.tag))].map((name) => ({ name })),
    paths,
    components: {
      schemas: schemas.components(),
      ...components,
      securitySchemes,
      headers: headerComponents,
      examples: Object.fromEntries(listProblemCodes().map((entry) => [entry.code, problemExample(entry)])),
    },
    'x-problem-codes': Object.fromEntries(
      listProblemCodes().map(({ code, kind, title }) => [code, { status: statusByKind[kind], title }]),
    ),
  };
}

const securitySchemes = {
  apiKey: {
    type: 'apiKey',
    in: 'header',
    name: 'X-API-Key',
    description: 'A key of one project, with a set of scopes',
  },
  bearer: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'A token of a user. The membership and the role determine the access',
  },
  adminKey: { type: 'apiKey', in: 'header', name: 'X-Admin-Key', description: 'The operator' },
};

const problemSchema = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    instance: z.string(),
    code: z.enum(listProblemCodes().map(({ code }) => code)),
    request_id: z.string(),
    errors: z.array(z.object({ path: z.string(), code: z.string(), message: z.string() })).optional(),
    truncated: z
      .boolean()
      .optional()
      .meta({ description: 'True if elements of lists are left out, because a problem has at most 64 KiB' }),
  })
  .meta({ id: 'Problem' });

function problemExample({ code, kind, title }: ReturnType<typeof listProblemCodes>[number]): JsonObject {
  const value: z.infer<typeof problemSchema> = {
    type: `urn:promptlane:problem:${code}`,
    title,
    status: statusByKind[kind],
    detail: `${title}. A detail describes the fault of this request`,
    instance: '/the/requested/path',
    code,
    request_id: '1f0c6c1e-8f57-4a55-9d0e-0b6a6f8f3c11',
  };
  return { summary: title, value };
}
