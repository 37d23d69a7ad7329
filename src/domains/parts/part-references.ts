import type { ProjectId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { TemplateLimitError } from '../templates/index.ts';
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

/**
 * Stores the part tags of a new version of a part and checks them.
 * @throws InvalidError (`part_cycle`, `template_limit`)
 */
export async function addPartReferences(transaction: Postgres, item: Item, added: Added): Promise<void> {
  const { version, references } = added;
  await insertPartUses(transaction, item.projectId, { kind: 'part', id: item.id, version }, references);
  // What a tag with a number means has not changed, except where it names the new version.
  await checkVersionsInUse(transaction, item, { pinned: false });
}

/**
 * Checks the versions in use of a part: none may include itself or make the parts that include it
 * nest too deeply. Only a part that is found by a slug again is found by tags with a number.
 * @throws InvalidError (`part_cycle`, `template_limit`)
 */
export function checkPartReferences(
  transaction: Postgres,
  item: Item,
  { isFound }: { isFound: boolean },
): Promise<void> {
  return checkVersionsInUse(transaction, item, { pinned: isFound });
}

/** The check holds a connection and the lock of the project's parts. Tags with numbers can name all versions of a part. */
const checkMsMax = 5_000;

async function checkVersionsInUse(
  transaction: Postgres,
  { id, projectId }: Item,
  { pinned }: { pinned: boolean },
): Promise<void> {
  const endMs = performance.now() + checkMsMax;
  for (const start of await findInForce(transaction, projectId, { kind: 'part', ids: [id], pinned })) {
    if (performance.now() > endMs)
      throw new TemplateLimitError(
        `Tags name so many versions of this part that the check of them takes longer than ${checkMsMax / 1_000} s`,
        'parts',
      );
    const edges = await findEdges(transaction, projectId, start);
    checkPartGraph(start, edges, await findLevelsAbove(transaction, projectId, start));
  }
}

/**
 * Stores which parts a new version of a prompt references and which versions they resolve to now.
 * References to parts that do not exist yet are allowed.
 * @throws InvalidError (`template_limit`, `part_cycle`)
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
 * Checks everything that an import changed and stores which part versions its prompts resolve to.
 * `between` is called before each version.
 * @throws InvalidError (`part_cycle`, `template_limit`), and the errors of `between`
 */
export async function checkImportedReferences(
  transaction: Postgres,
  projectId: ProjectId,
  { parts, prompts }: { parts: readonly string[]; prompts: readonly string[] },
  between: () => void,
): Promise<void> {
  for (const kind of ['part', 'prompt'] as const) {
    const changed = kind === 'part' ? parts : prompts;
    for (const start of await findInForce(transaction, projectId, { kind, ids: changed, pinned: true })) {
      between();
      const edges = await findEdges(transaction, projectId, start);
      const above = kind === 'part' ? await findLevelsAbove(transaction, projectId, start) : 0;
      checkPartGraph(start, edges, above);
      if (kind === 'prompt') await recordPromptParts(transaction, projectId, start.id, start.version, edges);
    }
  }
}
