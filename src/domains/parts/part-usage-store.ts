import type { ProjectId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';

/** A version of a live prompt or part that includes a part. */
export interface PartUser {
  type: 'prompt' | 'part';
  id: string;
  slug: string;
  name: string;
  version: number;
  isLatest: boolean;
  labels: string[];
  /** True when it has a tag of the part itself, not only through other parts. */
  isDirect: boolean;
}

export interface UsagePage {
  after?: readonly [type: string, id: string, version: number] | undefined;
  limit: number;
  /**
   * Only newest or labeled versions, and only the nearest of them: versions that include those in
   * turn are omitted.
   */
  inForce?: boolean;
}

/** Lists all versions that include any version of the part, sorted by type, id and version. */
export async function findPartUsers(
  postgres: Postgres,
  projectId: ProjectId,
  partId: string,
  { after, limit, inForce = false }: UsagePage,
): Promise<PartUser[]> {
  const { rows } = await postgres.raw<{ rows: PartUser[] }>(
    `with recursive users (kind, id, version, direct) as (
       select user_kind, user_id, user_version, true from part_edges
       where project_id = :projectId and part_id = :partId
       union
       select edges.user_kind, edges.user_id, edges.user_version, false
       from users join part_edges as edges
         on edges.project_id = :projectId and edges.part_id = users.id and edges.part_version = users.version
       where users.kind = 'part' and not (:inForce and (
         exists (select from parts where parts.id = users.id and latest_version = users.version)
         or exists (select from part_labels as own where own.part_id = users.id and own.version = users.version)))),
     items as (
       select 'prompt' as kind, id, slug, name, latest_version from prompts
         where project_id = :projectId and deleted_at is null
       union all
       select 'part', id, slug, name, latest_version from parts
         where project_id = :projectId and deleted_at is null),
     labeled as (
       select prompt_id as id, version, label from prompt_labels where project_id = :projectId
       union all
       select part_id, version, label from part_labels where project_id = :projectId)
     select users.kind as type, users.id, slug, name, users.version, users.version = latest_version as "isLatest",
       array(select label from labeled where labeled.id = users.id and labeled.version = users.version order by 1)
         as labels,
       bool_or(direct) as "isDirect"
     from users join items on items.kind = users.kind and items.id = users.id
     where users.id <> :partId
       and (not :inForce or users.version = latest_version
         or exists (select from labeled where labeled.id = users.id and labeled.version = users.version))
       and (cast(:afterType as text) is null or (users.kind, users.id, users.version) > (:afterType, :afterId, :afterVersion))
     group by 1, 2, 3, 4, 5, latest_version
     order by 1, 2, 5 limit :limit`,
    {
      projectId,
      partId,
      inForce,
      limit,
      afterType: after?.[0] ?? null,
      afterId: after?.[1] ?? '',
      afterVersion: after?.[2] ?? 0,
    },
  );
  return rows;
}
