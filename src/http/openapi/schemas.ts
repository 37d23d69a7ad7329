import { z } from 'zod';
import { exampleOf } from './examples.ts';
import type { JsonObject, KnownFields } from './json-object.ts';

export interface SchemaRegistry {
  /**
   * Converts a zod schema to JSON Schema. Schemas with an `id` in their metadata become components
   * of that name, wherever they occur. `name` must be unique in the document: it names what is
   * recursive and has no id.
   * @throws Error when two different schemas have one id
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

/** The place of the schemas in the document. */
export const schemasPath = '#/components/schemas/';

/**
 * Creates the registry of a document's schemas. zod puts definitions under `$defs` of each schema
 * and refers to the schema itself as `#`; in an OpenAPI document both must be components.
 */
export function createSchemaRegistry(knownFields: KnownFields): SchemaRegistry {
  const components = new Map<string, { schema: JsonObject; text: string }>();

  function add(name: string, schema: JsonObject): void {
    const text = JSON.stringify(schema);
    const known = components.get(name);
    if (known === undefined) components.set(name, { schema, text });
    else if (known.text !== text) {
      throw new Error(`Two schemas have the id ${name}: ${known.text.slice(0, 500)} and ${text.slice(0, 500)}`);
    }
  }

  function convert(schema: z.core.$ZodType, io: 'input' | 'output', name: string): JsonObject {
    const {
      $schema: _,
      $defs = {},
      ...root
    } = z.toJSONSchema(schema, {
      ...{ io, unrepresentable: 'any' },
      override: ({ jsonSchema }) => dropTimePattern(jsonSchema),
    });
    const nameOf = (key: string) => (key.startsWith(namelessPrefix) ? `${name}_${key}` : key);
    let isWithinItself = false;
    const pathOf = (ref: string) => {
      if (ref === '#') isWithinItself = true;
      return schemasPath + (ref === '#' ? name : nameOf(ref.replace('#/$defs/', '')));
    };
    for (const node of [root, ...Object.values($defs)]) renameReferences(node, pathOf);
    for (const [key, definition] of Object.entries($defs)) add(nameOf(key), { ...definition });
    if (!isWithinItself) return root;
    add(name, root);
    return { $ref: schemasPath + name };
  }

  const resolve = (ref: string) => components.get(ref.replace(schemasPath, ''))?.schema;
  return {
    convert,
    example: (converted, io, field) => exampleOf(converted, { io, knownFields, resolve, within: [] }, field),
    describe: (field) => (Object.hasOwn(knownFields, field) ? knownFields[field]?.description : undefined),
    components: () => Object.fromEntries([...components].map(([name, { schema }]) => [name, schema])),
  };
}

/** zod describes a time by its format and by a pattern of 290 characters, which says no more to a reader. */
function dropTimePattern(schema: z.core.JSONSchema.BaseSchema): void {
  if (schema.format === 'date-time') delete schema.pattern;
}

/** How zod names definitions of schemas without an id. */
const namelessPrefix = '__schema';

/** Renames all references in a schema, which belongs to the caller. */
function renameReferences(schema: object, pathOf: (ref: string) => string): void {
  const open: object[] = [schema];
  for (let at = open.pop(); at; at = open.pop()) {
    if ('$ref' in at && typeof at.$ref === 'string') at.$ref = pathOf(at.$ref);
    open.push(...Object.values(at).filter((value) => typeof value === 'object' && value !== null));
  }
}
