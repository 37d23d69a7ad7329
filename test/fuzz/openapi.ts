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
  paths: Readonly<Record<string, Readonly<Record<string, Omit<Operation, 'method' | 'path'>>>>>;
  'x-problem-codes': Readonly<Record<string, { status: number }>>;
}

export async function fetchDocument(apiUrl: string): Promise<Document> {
  const response = await fetch(`${apiUrl}/api/openapi.json`);
  if (response.status !== 200) throw new Error(`The OpenAPI document was answered with ${response.status}`);
  return (await response.json()) as Document;
}

export function operationsOf(document: Document): Operation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  );
}
