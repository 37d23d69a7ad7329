import type { ProjectId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { Added, Item } from '../versioned/index.ts';
import { checkPartGraph } from './check-part-graph.ts';
import {
  findEdges,
  findInForce,
  findLevelsAbove,
  insertPartUses,
  lockPartGraph,
  recordPromptParts,
} from './part-graph-store.ts';

/** Stores what a new version of a part includes. Throws InvalidError (`part_cycle`, `template_limit`). */
export async function addPartReferences(transaction: Postgres, item: Item, added: Added): Promise<void> {
  const { version, references } = added;
  await insertPartUses(transaction, item.projectId, { kind: 'part', id: item.id, version }, references);
  await checkPartReferences(transaction, item);
}

/**
 * Throws InvalidError (`part_cycle`, `template_limit`) when a version of the part that tags come to includes itself, or makes parts
 * that include it nest too deeply.
 */
export async function checkPartReferences(transaction: Postgres, item: Item): Promise<void> {
  const { id, projectId } = item;
  for (const start of await findInForce(transaction, projectId, 'part', [id])) {
    const edges = await findEdges(transaction, projectId, start);
    checkPartGraph(start, edges, await findLevelsAbove(transaction, projectId, start));
  }
}

/**
 * Stores which parts a new version of a prompt names, and which versions of parts those come to now. Names of parts that do not
 * exist yet are allowed. Throws InvalidError (`template_limit`, `part_cycle`).
 */
export async function addPromptReferences(
  transaction: Postgres,
  prompt: { id: string; projectId: ProjectId; slug: string },
  { version, references }: Added,
): Promise<void> {
  if (references.length === 0) return;
  const { id, projectId, slug } = prompt;
  const start = { kind: 'prompt', id, version, slug } as const;
  await lockPartGraph(transaction, projectId, 'rely');
  await insertPartUses(transaction, projectId, start, references);
  const edges = await findEdges(transaction, projectId, start);
  checkPartGraph(start, edges);
  await recordPromptParts(transaction, projectId, id, version, edges);
}

/**
 * Makes sure of everything an import has changed, and notes what its prompts come to; `between` is called before each version.
 * Throws as the others here, and what `between` throws.
 */
export async function checkImportedReferences(
  transaction: Postgres,
  projectId: ProjectId,
  { parts, prompts }: { parts: readonly string[]; prompts: readonly string[] },
  between: () => void,
): Promise<void> {
  for (const kind of ['part', 'prompt'] as const) {
    const changed = kind === 'part' ? parts : prompts;
    for (const start of await findInForce(transaction, projectId, kind, changed)) {
      between();
      const edges = await findEdges(transaction, projectId, start);
      const above = kind === 'part' ? await findLevelsAbove(transaction, projectId, start) : 0;
      checkPartGraph(start, edges, above);
      if (kind === 'prompt') await recordPromptParts(transaction, projectId, start.id, start.version, edges);
    }
  }
}
