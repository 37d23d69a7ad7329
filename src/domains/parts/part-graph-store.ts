import type { ProjectId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import { TemplateLimitError, templateLimits } from '../templates/index.ts';
import type { Reference } from '../versioned/index.ts';

/** A version of a prompt or part, where an edge starts. */
export interface Includer {
  kind: 'prompt' | 'part';
  id: string;
  version: number;
}

/** One part tag, as an edge between two versions. */
export interface Edge {
  from: string;
  to: string;
  slug: string;
}

/**
 * Takes an advisory lock until the transaction ends. `change` (exclusive) is for changing what the
 * project's part tags resolve to; `rely` (shared) prevents such changes. Every transaction locks
 * rows of prompts before it and rows of parts after it, so that no deadlock occurs.
 */
export async function lockPartGraph(
  transaction: Postgres,
  projectId: ProjectId | string,
  purpose: 'change' | 'rely',
): Promise<void> {
  const lock = purpose === 'change' ? 'pg_advisory_xact_lock' : 'pg_advisory_xact_lock_shared';
  await transaction.raw(`select ${lock}(hashtextextended(?, 0))`, [`parts of ${projectId}`]);
}

/** Stores the part tags of a version. */
export async function insertPartUses(
  transaction: Postgres,
  projectId: ProjectId,
  { kind, id, version }: Includer,
  references: readonly Reference[],
): Promise<void> {
  if (references.length === 0) return;
  // Two arrays, because a statement may have at most 65,535 bindings.
  await transaction.raw(
    `insert into part_uses (project_id, user_kind, user_id, user_version, slug, pin)
     select :projectId, :kind, :id, cast(:version as integer), slug, pin
     from unnest(cast(:slugs as text[]), cast(:pins as text[])) as used (slug, pin)`,
    {
      ...{ projectId, kind, id, version },
      slugs: references.map(({ slug }) => slug),
      pins: references.map(({ pin }) => pin),
    },
  );
}

/** Real projects have fewer; more edges are treated as hostile. */
const edgesMax = 20_000;

/**
 * The part tags of one version after the other, found by the key of the version. A join would read all tags of the
 * project while an import adds them, when Postgres does not know yet how many there are; `offset 0` prevents it.
 */
const edgesOf = (versions: string) => `
  select slug, part_id, part_version from part_edges
  where project_id = :projectId and user_kind = ${versions}.kind and user_id = ${versions}.id
    and user_version = ${versions}.version
  offset 0`;

/**
 * Finds every part tag reached from a version, each once. Tags of unknown parts are omitted.
 * @throws TemplateLimitError when there are too many
 */
export async function findEdges(
  postgres: Postgres,
  projectId: ProjectId,
  { kind, id, version }: Includer,
): Promise<Edge[]> {
  const { rows } = await postgres.raw<{ rows: Edge[] }>(
    `with recursive reached (kind, id, version) as (
       select cast(:kind as text), cast(:id as text), cast(:version as integer)
       union
       select 'part', part_id, part_version from reached cross join lateral (${edgesOf('reached')}) edges
       where part_version is not null)
     select id || '@' || version as "from", part_id || '@' || part_version as "to", slug
     from reached cross join lateral (${edgesOf('reached')}) edges
     where part_version is not null limit ${edgesMax + 1}`,
    { kind, id, version, projectId },
  );
  if (rows.length > edgesMax) throw new TemplateLimitError(`More than ${edgesMax} part tags are reached`, 'parts');
  return rows;
}

/**
 * Returns the length of the longest path of part tags to a version of a part, as the number of
 * parts above it. Paths begin at versions in use: the newest ones, those with a label, and those
 * that such a version of a prompt references.
 */
export async function findLevelsAbove(
  postgres: Postgres,
  projectId: ProjectId,
  { id, version }: Pick<Includer, 'id' | 'version'>,
): Promise<number> {
  const { rows } = await postgres.raw<{ rows: { levels: number | null }[] }>(
    `with recursive above (id, version, levels) as (
       select cast(:id as text), cast(:version as integer), 0
       union
       select user_id, user_version, levels + 1 from above join part_edges
         on project_id = :projectId and user_kind = 'part' and part_id = above.id and part_version = above.version
       where levels <= :levelsMax)
     select max(levels) as levels from above join parts using (id)
     where deleted_at is null and (version = latest_version
       or exists (select from part_labels where part_id = above.id and part_labels.version = above.version)
       or exists (
         select from part_edges join prompts on prompts.id = user_id
         where part_edges.project_id = :projectId and user_kind = 'prompt'
           and part_id = above.id and part_version = above.version and prompts.deleted_at is null
           and (user_version = prompts.latest_version or exists (
             select from prompt_labels where prompt_id = user_id and prompt_labels.version = user_version))))`,
    { id, version, projectId, levelsMax: templateLimits.partDepthMax },
  );
  return rows[0]?.levels ?? 0;
}

/**
 * Stores which part versions a prompt version resolves to now, directly or through other parts.
 * Earlier entries stay.
 */
export async function recordPromptParts(
  transaction: Postgres,
  projectId: ProjectId,
  promptId: string,
  version: number,
  edges: readonly Edge[],
): Promise<void> {
  const reached = [...new Set(edges.map(({ to }) => to))];
  if (reached.length === 0) return;
  await transaction.raw(
    `insert into prompt_version_parts (project_id, prompt_id, version, part_id, part_version)
     select :projectId, :promptId, cast(:version as integer), part_id, part_version
     from unnest(cast(:ids as text[]), cast(:versions as integer[])) as reached (part_id, part_version)
     on conflict do nothing`,
    {
      projectId,
      promptId,
      version,
      ids: reached.map((node) => node.slice(0, node.lastIndexOf('@'))),
      versions: reached.map((node) => Number(node.slice(node.lastIndexOf('@') + 1))),
    },
  );
}

/**
 * Returns the versions in use of the given items: the newest, those with a label, and with `pinned`
 * versions of parts that some tag resolves to. Versions of prompts without part tags are omitted.
 */
export async function findInForce(
  postgres: Postgres,
  projectId: ProjectId,
  { kind, ids, pinned }: { kind: Includer['kind']; ids: readonly string[]; pinned: boolean },
): Promise<(Includer & { slug: string })[]> {
  const { items, labels, idColumn } = tablesOf[kind];
  const { rows } = await postgres.raw<{ rows: { id: string; version: number; slug: string }[] }>(
    `with changed as (select id, slug, latest_version from ${items} where project_id = :projectId and id = any(:ids)),
     in_force as (
       select id, slug, latest_version as version from changed
       union
       select id, slug, ${labels}.version from changed join ${labels} on ${labels}.${idColumn} = id
         where ${labels}.project_id = :projectId
       union
       select id, changed.slug, part_version from changed join part_edges on part_id = id
         where :kind = 'part' and :pinned and part_edges.project_id = :projectId and part_version is not null)
     select id, slug, version from in_force
     where :kind = 'part' or exists (
       select from part_uses where user_kind = :kind and user_id = id and user_version = version)
     order by id, version`,
    { projectId, ids, kind, pinned },
  );
  return rows.map((row) => ({ kind, ...row }));
}

const tablesOf = {
  prompt: { items: 'prompts', labels: 'prompt_labels', idColumn: 'prompt_id' },
  part: { items: 'parts', labels: 'part_labels', idColumn: 'part_id' },
} as const satisfies Record<Includer['kind'], unknown>;
