import type { CompiledPrompt } from './compile-prompt.ts';

/** What comparing needs of a prompt, saved or not. */
export type Comparable = Pick<CompiledPrompt, 'placeholders' | 'variables'> & { type: 'text' | 'chat' };

export interface Compatibility {
  /** Who calls the one and gives all it needs may be refused, or answered in another shape, by the other. */
  breaking: boolean;
  addedVariables: string[];
  removedVariables: string[];
  /** Variables and `placeholders.name` that are required and were not before. */
  newlyRequired: string[];
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
  const typeChanged = known.type !== draft.type;
  return {
    breaking: newlyRequired.length > 0 || typeChanged,
    addedVariables: added,
    removedVariables: removed,
    newlyRequired,
    typeChanged,
  };
}
