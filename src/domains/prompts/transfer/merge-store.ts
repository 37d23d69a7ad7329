import { InvalidError } from '../../../lib/errors.ts';
import { newId, type ProjectId } from '../../../lib/ids.ts';
import type { Postgres } from '../../../stores/postgres/client.ts';
import type { partKind } from '../../parts/index.ts';
import { itemLimits } from '../../versioned/index.ts';
import type { promptKind } from '../prompt-content.ts';

/** A line that contradicts a stored version. */
export interface Conflict {
  line: number;
  code: 'history_differs';
  message: string;
}

export interface ChangedItem {
  id: string;
  slug: string;
  /** Imported versions: those after the first number, up to and including the second. */
  versions: [after: number, upTo: number];
}

/** The result of importing the items of one kind, or what it would be. */
export interface Merged {
  created: number;
  updated: number;
  unchanged: number;
  versions: number;
  /** Items that were created or updated, in the order of their lines. */
  changed: ChangedItem[];
}

type TransferKind = typeof partKind | typeof promptKind;

/** New ids of one statement. To create them takes 15 ms. */
const newIdsMax = 2_000;

/**
 * Locks the live items that the lines name. Stores their ids and newest versions in `staged_items`,
 * and new ids for the other lines.
 */
export async function matchStaged(transaction: Postgres, kind: TransferKind, projectId: ProjectId): Promise<void> {
  const { items } = kind.tables;
  await transaction.raw(
    `with locked as (
       select id, slug, latest_version from ${items}
       where project_id = :projectId and deleted_at is null
         and slug in (select slug from staged_items where kind = :noun)
       order by id for update)
     update staged_items set item_id = locked.id, base_version = latest_version
     from locked where staged_items.kind = :noun and staged_items.slug = locked.slug`,
    { projectId, noun: kind.noun },
  );
  for (;;) {
    const slugs: string[] = await transaction('staged_items')
      .where({ kind: kind.noun })
      .whereNull('item_id')
      .orderBy('line')
      .limit(newIdsMax)
      .pluck('slug');
    if (slugs.length === 0) return;
    await transaction.raw(
      `update staged_items set item_id = new.id, base_version = 0
       from unnest(cast(:slugs as text[]), cast(:ids as text[])) as new (slug, id)
       where staged_items.kind = :noun and staged_items.slug = new.slug`,
      { slugs, ids: slugs.map(() => newId(kind.idPrefix)), noun: kind.noun },
    );
  }
}

const conflictsMax = 100;

/** Finds staged versions that are stored with different content. */
export async function findConflicts(
  transaction: Postgres,
  kind: TransferKind,
  projectId: ProjectId,
): Promise<Conflict[]> {
  const { tables, idColumn, noun } = kind;
  const { rows } = await transaction.raw<{ rows: Conflict[] }>(
    `select staged.line, 'history_differs' as code,
       'Version ' || staged.version || ' of the ${noun} ' || staged.slug || ' exists with different content' as message
     from staged_items
     join staged_versions as staged on staged.kind = staged_items.kind and staged.slug = staged_items.slug
     join ${tables.versions} as stored on stored.project_id = :projectId and stored.${idColumn} = item_id and stored.version = staged.version
     where staged_items.kind = :noun and stored.content_hash <> staged.content_hash
     order by 1 limit ${conflictsMax}`,
    { noun, projectId },
  );
  return rows;
}

/**
 * Adds missing items, versions after the newest stored one, and missing labels.
 * @throws InvalidError when an item would have too many labels
 */
export async function mergeStaged(
  transaction: Postgres,
  kind: TransferKind,
  projectId: ProjectId,
  author: { type: string; id: string | null },
): Promise<Merged> {
  const bindings = { projectId, noun: kind.noun, authorType: author.type, authorId: author.id };
  const counted = await countStaged(transaction, kind);
  for (const statement of mergeStatements(kind)) await transaction.raw(statement, bindings);
  await requireFewLabels(transaction, kind, projectId);
  return counted;
}

async function countStaged(transaction: Postgres, { noun }: TransferKind): Promise<Merged> {
  const counted = await transaction.raw<{ rows: Omit<Merged, 'changed'>[] }>(
    `select count(*) filter (where base_version = 0)::int as created,
       count(*) filter (where base_version > 0 and base_version < versions)::int as updated,
       count(*) filter (where base_version >= versions)::int as unchanged,
       coalesce(sum(greatest(versions - base_version, 0)), 0)::int as versions
     from staged_items where kind = :noun`,
    { noun },
  );
  const counts = counted.rows[0] ?? { created: 0, updated: 0, unchanged: 0, versions: 0 };
  const changed = await transaction.raw<{ rows: ChangedItem[] }>(
    `select item_id as id, slug, array[base_version, versions] as versions
     from staged_items where kind = :noun and base_version < versions order by line`,
    { noun },
  );
  return { ...counts, changed: changed.rows };
}

/**
 * Checks the number of labels, stored and imported together.
 * @throws InvalidError with the line number when there are too many
 */
async function requireFewLabels(
  transaction: Postgres,
  { tables, idColumn, noun }: TransferKind,
  projectId: ProjectId,
): Promise<void> {
  const { rows } = await transaction.raw<{ rows: { line: number; slug: string; count: number }[] }>(
    `select line, slug, count(*)::int as count from staged_items join ${tables.labels} as labels on labels.${idColumn} = item_id
     where kind = :noun and base_version < versions and labels.project_id = :projectId
     group by line, slug having count(*) > ${itemLimits.labelsMax} order by line limit 1`,
    { noun, projectId },
  );
  const [over] = rows;
  if (over === undefined) return;
  const message = `The ${noun} ${over.slug} would have ${over.count} labels. At most ${itemLimits.labelsMax} are allowed`;
  throw new InvalidError('invalid_body', `line ${over.line}: ${message}`, {
    errors: [{ path: `line ${over.line}`, code: 'too_many', message }],
  });
}

function mergeStatements({ tables, idColumn, ownColumns, fixedColumns, noun }: TransferKind): string[] {
  const { items, versions, labels, labelHistory } = tables;
  const columns = [...ownColumns, ...(noun === 'prompt' ? ['template_hash'] : [])].join(', ');
  const fixed = fixedColumns.map((column) => `, ${column}`).join('');
  const added = `staged_items join staged_versions as staged using (kind, slug)
    where kind = :noun and staged.version > base_version`;
  return [
    `insert into ${items} (id, project_id, slug, name, description, tags, latest_version, created_at, updated_at${fixed})
     select item_id, :projectId, slug, name, description, tags, versions, created_at, updated_at${fixed}
     from staged_items where kind = :noun and base_version = 0`,
    `insert into ${versions} (project_id, ${idColumn}, version, ${columns}, commit_message, kind, parent_version,
       rolled_back_from, content_hash, author_type, author_id, created_at, imported_at, imported_by_type, imported_by_id)
     select :projectId, item_id, staged.version, ${columns}, commit_message, version_kind, parent_version,
       rolled_back_from, content_hash, author_type, author_id, staged.created_at, clock_timestamp(), :authorType, :authorId
     from ${added}`,
    `update ${items} set latest_version = versions, revision = revision + 1, updated_at = clock_timestamp()
     from staged_items where ${items}.project_id = :projectId and kind = :noun and id = item_id and base_version > 0 and base_version < versions`,
    `insert into part_uses (project_id, user_kind, user_id, user_version, slug, pin)
     select :projectId, kind, item_id, staged_uses.version, used_slug, pin
     from staged_items join staged_uses using (kind, slug)
     where kind = :noun and staged_uses.version > base_version`,
    `with pointed as (
       insert into ${labels} (project_id, ${idColumn}, label, version)
       select :projectId, item_id, key, cast(value as integer)
       from staged_items cross join lateral json_each_text(labels)
       where kind = :noun and base_version < versions
       on conflict (${idColumn}, label) do nothing
       returning ${idColumn} as owner, label, version)
     insert into ${labelHistory} (project_id, ${idColumn}, label, version, author_type, author_id)
     select :projectId, owner, label, version, :authorType, :authorId from pointed`,
  ];
}
