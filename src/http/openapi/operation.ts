import { STATUS_CODES } from 'node:http';
import { z } from 'zod';
import type { Access, Contract, MediaType } from '../endpoint.ts';
import { problemContentType } from '../problem.ts';
import { isPrefix } from '../query.ts';
import { requestHeaders, responseHeaders } from './headers.ts';
import type { JsonObject } from './json-object.ts';
import { problemsOf } from './problems.ts';
import type { SchemaRegistry } from './schemas.ts';

/** One operation of the document. */
export interface Operation extends JsonObject {
  parameters: JsonObject[];
  responses: Record<string, JsonObject>;
}

/** Builds one operation of the document. */
export function operation(
  contract: Contract,
  schemas: SchemaRegistry,
  leastRoleOf: (scope: string) => string | undefined,
): Operation {
  const { operationId, summary, description, tag, access, rateClass } = contract;
  const body = requestBody(contract, schemas);
  return {
    operationId,
    summary,
    ...(description === undefined ? {} : { description }),
    tags: [tag],
    security: security(access),
    'x-rate-class': rateClass,
    'x-promptlane-access': 'scope' in access ? { scope: access.scope, role: leastRoleOf(access.scope) } : access,
    parameters: [
      ...parameters(contract, 'params', schemas),
      ...parameters(contract, 'query', schemas),
      ...requestHeaders(contract),
    ],
    ...(body ? { requestBody: body } : {}),
    responses: responses(contract, schemas),
  };
}

function security(access: Access): JsonObject[] {
  if ('open' in access) return [];
  if ('admin' in access) return [{ adminKey: [] }];
  if ('role' in access) return [{ bearer: [] }, { adminKey: [] }];
  return [{ apiKey: [] }, { bearer: [] }, { adminKey: [] }];
}

function parameters(contract: Contract, part: 'params' | 'query', schemas: SchemaRegistry): JsonObject[] {
  return Object.entries(contract[part]?.shape ?? {}).map(([name, schema]) => {
    const converted = schemas.convert(schema, 'input', `${contract.operationId}_${name.replace('.', '')}`);
    // zod omits the default when a text is converted first, as for every number in a query.
    const fallback = z.safeParse(schema, undefined).data;
    const { description } = converted;
    return {
      // OpenAPI has no parameters by prefix, so this one represents all of them.
      name: isPrefix(name) ? `${name}<key>` : name,
      in: part === 'params' ? 'path' : 'query',
      required: part === 'params' || !acceptsAbsence(schema),
      description: typeof description === 'string' ? description : (schemas.describe(name) ?? name),
      schema: fallback === undefined ? converted : { default: fallback, ...converted },
      example: schemas.example(converted, 'input', name),
    };
  });
}

function requestBody({ operationId, body, reads }: Contract, schemas: SchemaRegistry): JsonObject | undefined {
  if (reads) return { required: true, content: mediaTypes(reads, schemas, operationId, 'input') };
  if (!body) return undefined;
  const content = mediaTypes({ 'application/json': { schema: body } }, schemas, `${operationId}_body`, 'input');
  return { required: !acceptsAbsence(body), content };
}

function acceptsAbsence(schema: z.core.$ZodType): boolean {
  return z.safeParse(schema, undefined).success;
}

function mediaTypes(
  types: Readonly<Record<string, MediaType>>,
  schemas: SchemaRegistry,
  name: string,
  io: 'input' | 'output',
): JsonObject {
  const described = Object.entries(types).map(([type, { schema, example }]) => {
    if (!schema) return [type, example === undefined ? {} : { example }];
    const converted = schemas.convert(schema, io, name);
    return [type, { schema: converted, example: example ?? schemas.example(converted, io) }];
  });
  return Object.fromEntries(described);
}

/**
 * Returns the contract's own responses and those of its errors. A status that can be either has
 * both contents.
 */
function responses(contract: Contract, schemas: SchemaRegistry): Record<string, JsonObject> {
  const answers: Record<string, JsonObject> = {};
  for (const [key, { description, schema, contentType, example }] of Object.entries(contract.responses)) {
    const status = Number(key);
    const type = contentType ?? (schema ? 'application/json' : undefined);
    const media = { ...(schema ? { schema } : {}), ...(example === undefined ? {} : { example }) };
    const content = type && mediaTypes({ [type]: media }, schemas, `${contract.operationId}_${status}`, 'output');
    answers[status] = { description, headers: responseHeaders(contract, status), ...(content ? { content } : {}) };
  }
  if (contract.conditional === true && contract.method === 'GET') {
    answers[304] = {
      description: 'The client already has the current version',
      headers: responseHeaders(contract, 304),
    };
  }
  for (const [status, codes] of problemsOf(contract)) {
    const own = answers[status];
    const phrase = STATUS_CODES[status] ?? String(status);
    answers[status] = {
      description: own ? `${String(own.description)}; or ${phrase}` : phrase,
      headers: responseHeaders(contract, status),
      'x-problem-codes': codes,
      content: { ...Object(own?.content), ...errorContent(contract, codes, schemas) },
    };
  }
  return answers;
}

function errorContent(contract: Contract, codes: readonly string[], schemas: SchemaRegistry): JsonObject {
  if (contract.errors) return mediaTypes(contract.errors, schemas, `${contract.operationId}_error`, 'output');
  const examples = Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }]));
  return { [problemContentType]: { schema: { $ref: '#/components/schemas/Problem' }, examples } };
}
