import type { ProjectId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';

/** Slugs before and after a given one, in their order, that are compared with it. */
const neighborsMax = 250;

/**
 * Finds slugs of live parts that are similar to the given ones, at most `eachMax` for each, to suggest them. Compares
 * each with the slugs that are next to it in their order, so that the parts of the project may be many.
 */
export async function findSimilarPartSlugs(
  postgres: Postgres,
  projectId: ProjectId,
  slugs: readonly string[],
  eachMax: number,
): Promise<string[]> {
  const { rows } = await postgres.raw<{ rows: { slug: string }[] }>(
    `select distinct similar_part.slug from unnest(cast(:slugs as text[])) as wanted
     cross join lateral (
       select slug from (
         (select slug from parts where project_id = :projectId and deleted_at is null and slug >= wanted
          order by slug limit :neighborsMax)
         union all
         (select slug from parts where project_id = :projectId and deleted_at is null and slug < wanted
          order by slug desc limit :neighborsMax)) as neighbor
       order by similarity(slug, wanted) desc, slug limit :eachMax) as similar_part
     order by 1`,
    { slugs, projectId, eachMax, neighborsMax },
  );
  return rows.map(({ slug }) => slug);
}
