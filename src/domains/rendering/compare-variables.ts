import type { JsonObject } from '../versioned/index.ts';
import type { CompiledPrompt } from './compile-prompt.ts';

/** What comparing needs of a prompt, saved or not. */
export type Comparable = Pick<CompiledPrompt, 'placeholders' | 'variables'> & {
  type: 'text' | 'chat';
  inputSchema: JsonObject | null;
};

export interface Compatibility {
  /** Who calls the one and gives all it needs may be refused, or answered in another shape, by the other. */
  breaking: boolean;
  addedVariables: string[];
  removedVariables: string[];
  /** Variables and `placeholders.name` that are required and were not before. */
  newlyRequired: string[];
  /** Variables the one takes and the schema of the other does not: not at all, or not of every type. */
  refusedVariables: string[];
  typeChanged: boolean;
}

/** How a draft differs from what its callers know. */
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
    if (isClosedTo(known.inputSchema, name)) return false;
    if (isClosedTo(draft.inputSchema, name)) return true;
    const [taken, wanted] = [typesOf(before.get(name)), typesOf(after.get(name))];
    return taken.some(
      (type) => wanted.length > 0 && !wanted.includes(type) && !(type === 'integer' && wanted.includes('number')),
    );
  });
}

function isClosedTo(schema: JsonObject | null, name: string): boolean {
  return schema?.additionalProperties === false && !('patternProperties' in schema) && !propertiesOf(schema).has(name);
}

function propertiesOf(schema: JsonObject | null): Map<string, unknown> {
  const properties = schema?.properties;
  return new Map(typeof properties === 'object' && properties !== null ? Object.entries(properties) : []);
}

/** Those a schema names; none where it leaves them open. */
function typesOf(schema: unknown): unknown[] {
  if (typeof schema !== 'object' || schema === null || !('type' in schema)) return [];
  return Array.isArray(schema.type) ? schema.type : [schema.type];
}
