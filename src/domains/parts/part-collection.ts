import { ConflictError } from '../../lib/errors.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { Invalidations } from '../../stores/postgres/invalidations.ts';
import { parseTemplate, type TemplateThreads } from '../templates/index.ts';
import type { Collection, Item } from '../versioned/index.ts';
import { type PartContent, partKind, referencesOf } from './part.ts';
import { lockPartGraph } from './part-graph-store.ts';
import { addPartReferences, checkPartReferences } from './part-references.ts';
import { findPartUsers } from './part-usage-store.ts';

/** Returns where parts are stored, and the checks that run when they change. */
export function partCollection(deps: {
  postgres: Postgres;
  invalidations: Pick<Invalidations, 'publish'>;
  threads: TemplateThreads;
}): Collection<PartContent> {
  const { postgres, invalidations, threads } = deps;
  return {
    kind: partKind,
    postgres,
    invalidations,
    checkContent: async ({ templateFormat, template }, { project, waiter }) =>
      referencesOf((await parseTemplate(threads.of(project.workspaceId, waiter), templateFormat, template)).parts),
    lockFirst: (transaction, projectId) => lockPartGraph(transaction, projectId, 'change'),
    versionAdded: addPartReferences,
    checkReferences: checkPartReferences,
    requireUnused,
  };
}

const dependantsMax = 50;

/**
 * Checks that no version in use includes the part: neither the newest nor a labeled version of a
 * live prompt or part.
 * @throws ConflictError `part_in_use`
 */
async function requireUnused(transaction: Postgres, item: Item): Promise<void> {
  const users = await findPartUsers(transaction, item.projectId, item.id, { limit: dependantsMax, inForce: true });
  const [first] = users;
  if (first === undefined) return;
  const others = users.length === 1 ? '' : ` and ${users.length - 1} more`;
  throw new ConflictError(
    'part_in_use',
    `The part ${item.slug} is in use by the ${first.type} ${first.slug}, version ${first.version}${others}.`,
    { extra: { dependants: users.map(({ type, id, slug, name, version }) => ({ type, id, slug, name, version })) } },
  );
}
