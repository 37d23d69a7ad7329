export interface JsonSchema {
  type?: string | readonly string[];
  enum?: readonly unknown[];
  const?: unknown;
  anyOf?: readonly JsonSchema[];
  oneOf?: readonly JsonSchema[];
  properties?: Readonly<Record<string, JsonSchema>>;
  required?: readonly string[];
  additionalProperties?: boolean | JsonSchema;
  items?: JsonSchema;
  minItems?: number;
  maxItems?: number;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  pattern?: string;
  format?: string;
  example?: unknown;
}

export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required: boolean;
  schema: JsonSchema;
  example?: unknown;
}

export interface Operation {
  operationId: string;
  method: string;
  path: string;
  parameters: readonly Parameter[];
  requestBody?: { content: Readonly<Record<string, { schema?: JsonSchema; example?: unknown }>> };
  responses: Readonly<Record<string, { content?: Readonly<Record<string, { schema?: JsonSchema }>> }>>;
}

export interface Document {
  components?: unknown;
  paths: Readonly<Record<string, Readonly<Record<string, Omit<Operation, 'method' | 'path'>>>>>;
  'x-problem-codes': Readonly<Record<string, { status: number }>>;
}

export async function fetchDocument(apiUrl: string): Promise<Document> {
  const response = await fetch(`${apiUrl}/api/openapi.json`);
  if (response.status !== 200) throw new Error(`The OpenAPI document got the response ${response.status}`);
  return (await response.json()) as Document;
}

/**
 * Returns every operation. References in its parameters, its body and its responses are replaced by
 * their targets. Schemas of responses keep their references.
 */
export function operationsOf(document: Document): Operation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      method: method.toUpperCase(),
      path,
      parameters: inPlace(operation.parameters, document),
      ...(operation.requestBody && { requestBody: inPlace(operation.requestBody, document) }),
      responses: Object.fromEntries(
        Object.entries(operation.responses).map(([status, response]) => [status, target(response, document)]),
      ),
    })),
  );
}

/** Returns a copy in which every reference is replaced by its target. No schema of a request contains itself. */
function inPlace<T>(node: T, document: Document): T {
  if (typeof node !== 'object' || node === null) return node;
  if (Array.isArray(node)) return node.map((each) => inPlace(each, document)) as T;
  const { $ref, ...rest } = target(node, document) as object & { $ref?: unknown };
  return Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, inPlace(value, document)])) as T;
}

/** Returns the target of a reference together with the other members beside it. Returns any other node unchanged. */
function target<T extends object>(node: T, document: Document): T {
  if (!('$ref' in node) || typeof node.$ref !== 'string') return node;
  const path = node.$ref.split('/').slice(1);
  const found = path.reduce<unknown>(
    (at, key) => (Object.hasOwn(Object(at), key) ? Object(at)[key] : undefined),
    document,
  );
  if (typeof found !== 'object' || found === null) throw new Error(`${node.$ref} has no target`);
  const { $ref: _, ...beside } = node;
  return { ...found, ...beside } as T;
}
