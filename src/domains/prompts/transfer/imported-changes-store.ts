import type { ProjectId } from '../../../lib/ids.ts';
import type { Postgres } from '../../../stores/postgres/client.ts';
import type { ItemChange } from '../../versioned/index.ts';
import { promptKind } from '../prompt-content.ts';

/** Changes in one page: an import adds up to 100,000 versions. */
const pageRows = 500;

interface Row {
  id: `prm_${string}`;
  slug: string;
  name: string;
  version: number;
  label: string | null;
  kind: Extract<ItemChange, { did: 'version_created' }>['kind'];
  parent_version: number | null;
}

/**
 * Reads the versions and labels that the merge of this transaction added to prompts, item by item in
 * the order of the lines, in pages. Call it after the merge.
 */
export async function* readImportedChanges(
  transaction: Postgres,
  projectId: ProjectId,
): AsyncGenerator<readonly ItemChange[], void> {
  const { items, versions, labelHistory } = promptKind.tables;
  // The merge leaves `at` to its default, the time of the transaction, and holds the lock of the
  // prompts. So the moves of that time are its own.
  await transaction.raw(
    `declare imported_changes no scroll cursor for
     select ${items}.id, ${items}.slug, ${items}.name, changes.version, label, changes.kind, parent_version
     from staged_items join ${items} on ${items}.project_id = :projectId and ${items}.id = item_id
     cross join lateral (
       select version, null as label, kind, parent_version from ${versions}
       where project_id = :projectId and prompt_id = item_id and version > base_version
       union all
       select version, label, null, null from ${labelHistory}
       where project_id = :projectId and prompt_id = item_id and at = now()) as changes
     where staged_items.kind = 'prompt' and base_version < versions
     order by staged_items.line, label is not null, changes.version, label`,
    { projectId },
  );
  for (;;) {
    const { rows } = await transaction.raw<{ rows: Row[] }>(`fetch ${pageRows} from imported_changes`);
    if (rows.length > 0) yield rows.map(toChange);
    if (rows.length < pageRows) return;
  }
}

function toChange({ id, slug, name, version, label, kind, parent_version }: Row): ItemChange {
  const item = { id, slug, name };
  if (label !== null) return { item, did: 'label_moved', label, from: null, to: version };
  return { item, did: 'version_created', version, kind, parentVersion: parent_version };
}
