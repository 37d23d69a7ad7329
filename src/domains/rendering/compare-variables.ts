import type { JsonObject } from '../versioned/index.ts';
import type { CompiledPrompt } from './compile-prompt.ts';

/** The fields of a saved prompt or a draft that are compared. */
export type Comparable = Pick<CompiledPrompt, 'placeholders' | 'variables'> & {
  type: 'text' | 'chat';
  inputSchema: JsonObject | null;
};

export interface Compatibility {
  /**
   * True when a call that is valid for the saved version may be refused by the draft, or gets a
   * result of another shape.
   */
  breaking: boolean;
  addedVariables: string[];
  removedVariables: string[];
  /** Variables, and placeholders as `placeholders.name`, that only the draft requires. */
  newlyRequired: string[];
  /**
   * Variables that the saved version accepts and the schema of the draft refuses, entirely or for
   * some type.
   */
  refusedVariables: string[];
  typeChanged: boolean;
}

/** Compares a draft with the saved version that its callers use. */
export function compareVariables(known: Comparable, draft: Comparable): Compatibility {
  const added = [...draft.variables.keys()].filter((path) => !known.variables.has(path));
  const removed = [...known.variables.keys()].filter((path) => !draft.variables.has(path));
  const required = [...draft.variables].filter(
    ([path, isRequired]) => isRequired && known.variables.get(path) !== true,
  );
  const placeholders = draft.placeholders.filter((name) => !known.placeholders.includes(name));
  const newlyRequired = [...required.map(([path]) => path), ...placeholders.map((name) => `placeholders.${name}`)];
  const refusedVariables = refusedBy(known, draft);
  const typeChanged = known.type !== draft.type;
  return {
    breaking: newlyRequired.length > 0 || refusedVariables.length > 0 || typeChanged,
    addedVariables: added,
    removedVariables: removed,
    newlyRequired,
    refusedVariables,
    typeChanged,
  };
}

function refusedBy(known: Comparable, draft: Comparable): string[] {
  const [before, after] = [propertiesOf(known.inputSchema), propertiesOf(draft.inputSchema)];
  const used = [...known.variables.keys()].map((path) => path.split('.', 1)[0] ?? path);
  return [...new Set([...used, ...before.keys()])].filter((name) => {
    if (isClosedTo(known.inputSchema, before, name)) return false;
    if (isClosedTo(draft.inputSchema, after, name)) return true;
    const [taken, wanted] = [typesOf(before.get(name)), typesOf(after.get(name))];
    return taken.some(
      (type) => wanted.length > 0 && !wanted.includes(type) && !(type === 'integer' && wanted.includes('number')),
    );
  });
}

function isClosedTo(schema: JsonObject | null, properties: ReadonlyMap<string, unknown>, name: string): boolean {
  return schema?.additionalProperties === false && !('patternProperties' in schema) && !properties.has(name);
}

function propertiesOf(schema: JsonObject | null): Map<string, unknown> {
  const properties = schema?.properties;
  return new Map(typeof properties === 'object' && properties !== null ? Object.entries(properties) : []);
}

/** Returns the types that a schema names; none when it allows any type. */
function typesOf(schema: unknown): unknown[] {
  if (typeof schema !== 'object' || schema === null || !('type' in schema)) return [];
  return Array.isArray(schema.type) ? schema.type : [schema.type];
}
