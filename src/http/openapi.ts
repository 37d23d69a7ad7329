import { z } from 'zod';
import { listProblemCodes, type ProblemCode } from '../lib/problem-codes.ts';
import type { Access, Contract } from './endpoint.ts';
import { createSchemaRegistry, type JsonObject, type SchemaRegistry } from './openapi-schemas.ts';
import { problemContentType, statusByKind } from './problem.ts';

/** An OpenAPI 3.1 document of the contracts: the same schemas that validate, the same codes that errors carry. */
export function openApiDocument({
  title,
  version,
  contracts,
  leastRoleOf = () => undefined,
}: {
  title: string;
  version: string;
  contracts: readonly Contract[];
  /** The role with which a user may do what a key needs the scope for. */
  leastRoleOf?: LeastRoleOf;
}): JsonObject {
  const schemas = createSchemaRegistry({ Problem: problemSchema });
  const paths: Record<string, JsonObject> = {};
  for (const contract of contracts) {
    paths[contract.path] = {
      ...paths[contract.path],
      [contract.method.toLowerCase()]: operation(contract, schemas, leastRoleOf),
    };
  }
  return {
    openapi: '3.1.0',
    info: { title, version },
    tags: [...new Set(contracts.map((contract) => contract.tag))].map((name) => ({ name })),
    paths,
    components: { schemas: schemas.components(), securitySchemes },
    'x-problem-codes': Object.fromEntries(
      listProblemCodes().map(({ code, kind, title }) => [code, { status: statusOf(kind), title }]),
    ),
  };
}

const securitySchemes = {
  apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key', description: 'One project, a set of scopes' },
  bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'A user, through memberships and role' },
  adminKey: { type: 'apiKey', in: 'header', name: 'X-Admin-Key', description: 'The operator' },
};

const problemSchema = z.looseObject({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  instance: z.string(),
  code: z.enum(listProblemCodes().map(({ code }) => code)),
  request_id: z.string(),
  errors: z.array(z.object({ path: z.string(), code: z.string(), message: z.string() })).optional(),
});

type LeastRoleOf = (scope: string) => string | undefined;

function operation(contract: Contract, schemas: SchemaRegistry, leastRoleOf: LeastRoleOf): JsonObject {
  const { operationId, summary, description, tag, access, rateClass, body } = contract;
  return {
    operationId,
    summary,
    ...(description === undefined ? {} : { description }),
    tags: [tag],
    security: security(access),
    'x-rate-class': rateClass,
    'x-promptlane-access': 'scope' in access ? { scope: access.scope, role: leastRoleOf(access.scope) } : access,
    parameters: [...parameters(contract, 'params', schemas), ...parameters(contract, 'query', schemas)],
    ...(body ? { requestBody: requestBody(contract, body, schemas) } : {}),
    responses: { ...successes(contract, schemas), ...problems(contract) },
  };
}

function security(access: Access): JsonObject[] {
  if ('open' in access) return [];
  if ('operator' in access) return [{ adminKey: [] }];
  if ('role' in access) return [{ bearer: [] }, { adminKey: [] }];
  return [{ apiKey: [] }, { bearer: [] }, { adminKey: [] }];
}

function parameters(contract: Contract, part: 'params' | 'query', schemas: SchemaRegistry): JsonObject[] {
  return Object.entries(contract[part]?.shape ?? {}).map(([name, schema]) => {
    const converted = schemas.convert(schema, 'input', `${contract.operationId}_${name}`);
    // zod leaves the default out where a text is converted first, as every number in a query is.
    const fallback = z.safeParse(schema, undefined).data;
    return {
      name,
      in: part === 'params' ? 'path' : 'query',
      required: part === 'params' || !acceptsAbsence(schema),
      schema: fallback === undefined ? converted : { ...converted, default: fallback },
    };
  });
}

function requestBody(contract: Contract, body: z.ZodType, schemas: SchemaRegistry): JsonObject {
  const schema = schemas.convert(body, 'input', `${contract.operationId}_body`);
  return { required: !acceptsAbsence(body), content: { 'application/json': { schema } } };
}

function acceptsAbsence(schema: z.core.$ZodType): boolean {
  return z.safeParse(schema, undefined).success;
}

function successes(contract: Contract, schemas: SchemaRegistry): Record<string, JsonObject> {
  return Object.fromEntries(
    Object.entries(contract.responses).map(([status, { description, schema, contentType }]) => {
      const type = contentType ?? (schema ? 'application/json' : undefined);
      const converted = schema ? schemas.convert(schema, 'output', `${contract.operationId}_${status}`) : {};
      return [status, { description, ...(type ? { content: { [type]: { schema: converted } } } : {}) }];
    }),
  );
}

/** What any endpoint of this shape may answer, and what the contract adds, by status. */
function problems(contract: Contract): Record<string, JsonObject> {
  const codes: ProblemCode[] = ['unknown_parameter', 'invalid_parameter', 'internal_error', 'dependency_unavailable'];
  if (!('open' in contract.access)) codes.push('credentials_required', 'invalid_credentials', 'forbidden');
  if ('scope' in contract.access) codes.push('insufficient_scope', 'insufficient_role');
  if ('role' in contract.access) codes.push('insufficient_role', 'admin_required');
  if ('operator' in contract.access) codes.push('admin_required');
  if (contract.rateClass !== 'none') codes.push('rate_limited');
  if (contract.params) codes.push('malformed_path', 'invalid_path_parameter');
  if (contract.body) {
    codes.push(
      'malformed_json',
      'json_too_deep',
      'unknown_field',
      'invalid_body',
      'body_too_large',
      'unsupported_media_type',
      'unsupported_content_encoding',
      'corrupt_body',
    );
  }
  codes.push(...(contract.problems ?? []));
  const kinds = new Map(listProblemCodes().map(({ code, kind }) => [code, kind]));
  const answers: Record<string, JsonObject> = {};
  for (const status of new Set(codes.map((code) => statusOf(kinds.get(code))))) {
    if (Object.hasOwn(contract.responses, status)) continue;
    const here = codes.filter((code) => statusOf(kinds.get(code)) === status);
    const schema = { $ref: '#/components/schemas/Problem' };
    answers[status] = { description: here.join(', '), content: { [problemContentType]: { schema } } };
  }
  return answers;
}

function statusOf(kind: keyof typeof statusByKind | 'internal' | undefined): number {
  return kind === undefined || kind === 'internal' ? 500 : statusByKind[kind];
}
