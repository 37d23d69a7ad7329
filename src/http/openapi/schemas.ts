import { z } from 'zod';
import { exampleOf } from './examples.ts';
import type { JsonObject, KnownFields } from './json-object.ts';

export interface SchemaRegistry {
  /**
   * Converts a zod schema to JSON Schema. Shared or repeated definitions become components. `name`
   * must be unique in the document.
   */
  convert(schema: z.core.$ZodType, io: 'input' | 'output', name: string): JsonObject;
  /**
   * Returns a value for a converted schema: from the schema itself, else from the known fields by
   * name.
   */
  example(converted: JsonObject, io: 'input' | 'output', field?: string): unknown;
  describe(field: string): string | undefined;
  components(): JsonObject;
}

/**
 * Creates the registry of a document's schemas. zod puts definitions under `$defs` of each schema
 * and refers to the schema itself as `#`; in an OpenAPI document both must be components.
 */
export function createSchemaRegistry(
  named: Readonly<Record<string, z.ZodType>>,
  knownFields: KnownFields,
): SchemaRegistry {
  const components: JsonObject = {};

  function convert(schema: z.core.$ZodType, io: 'input' | 'output', name: string): JsonObject {
    const { $schema: _, $defs = {}, ...root } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
    const targetOf = (ref: string) => (ref === '#' ? name : `${name}_${ref.replace('#/$defs/', '')}`);
    for (const [key, definition] of Object.entries($defs)) {
      components[targetOf(`#/$defs/${key}`)] = withReferences(definition, targetOf);
    }
    const converted = withReferences(root, targetOf);
    if (!JSON.stringify(root).includes('"$ref":"#"')) return converted;
    components[name] = converted;
    return { $ref: `#/components/schemas/${name}` };
  }

  for (const [name, schema] of Object.entries(named)) components[name] = convert(schema, 'output', name);
  const resolve = (ref: string) => components[ref.replace('#/components/schemas/', '')];
  return {
    convert,
    example: (converted, io, field) => exampleOf(converted, { io, knownFields, resolve }, field),
    describe: (field) => (Object.hasOwn(knownFields, field) ? knownFields[field]?.description : undefined),
    components: () => components,
  };
}

function withReferences(node: object, targetOf: (ref: string) => string): JsonObject {
  const copy = structuredClone(node);
  const open: object[] = [copy];
  for (let at = open.pop(); at; at = open.pop()) {
    if ('$ref' in at && typeof at.$ref === 'string') at.$ref = `#/components/schemas/${targetOf(at.$ref)}`;
    open.push(...Object.values(at).filter((value) => typeof value === 'object' && value !== null));
  }
  return { ...copy };
}
