import type { ProjectId } from '../../lib/ids.ts';
import type { Postgres } from '../../stores/postgres/client.ts';

/**
 * Finds the slugs of live parts that are most similar to the given ones, at most `eachMax` for
 * each, to suggest them.
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
       select slug from parts where project_id = :projectId and deleted_at is null
       order by similarity(slug, wanted) desc, slug limit :eachMax) as similar_part
     order by 1`,
    { slugs, projectId, eachMax },
  );
  return rows.map(({ slug }) => slug);
}
