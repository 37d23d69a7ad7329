import { isId } from '../../lib/ids.ts';
import { hashOfTemplateKey } from '../../lib/template-hash.ts';
import type { Postgres } from '../../stores/postgres/client.ts';
import type { KnownPrompt } from './prompt.ts';

interface Row {
  wanted: string;
  id: string;
  slug: string;
  versions: number[] | null;
}

/** A template text can belong to many versions. Only this many of the newest are returned. */
const versionsMax = 100;

/**
 * Live prompts come first, then deleted ones with the latest deletion first. Of otherwise equal
 * prompts the oldest comes first, so that a newer one cannot replace it.
 */
const lookUp = `
  select id as wanted, id, slug, null::integer[] as versions
    from prompts where project_id = :projectId and id = any(:ids)
  union all
  select wanted, found.id, found.slug, null
    from unnest(cast(:names as text[])) as wanted
    cross join lateral (
      select id, slug from prompts
      where project_id = :projectId and (slug = wanted or name = wanted)
      order by deleted_at is null desc, slug = wanted desc, deleted_at desc, id limit 1) as found
  union all
  select 'sha256:' || wanted, found.id, found.slug, found.versions
    from unnest(cast(:hashes as text[])) as wanted
    cross join lateral (
      select prompts.id, slug, (array_agg(version order by version desc))[1:${versionsMax}] as versions
      from prompt_versions join prompts on prompts.id = prompt_versions.prompt_id
      where prompt_versions.project_id = :projectId and template_hash = wanted
      group by prompts.id
      order by deleted_at is null desc, deleted_at desc, prompts.id limit 1) as found`;

/**
 * Finds prompts of the project by id, by slug or else exact name, or by the key of a template text.
 * Unknown ones are absent. Deleted prompts are found too, because executions keep their link.
 * @throws UnavailableError while Postgres is unavailable
 */
export async function findKnownPrompts(
  postgres: Postgres,
  projectId: string,
  wanted: readonly string[],
): Promise<Map<string, KnownPrompt>> {
  const hashes = wanted.flatMap((each) => hashOfTemplateKey(each) ?? []);
  const called = wanted.filter((each) => hashOfTemplateKey(each) === undefined);
  const ids = called.filter((each) => isId('prm', each));
  const names = called.filter((each) => !isId('prm', each));
  const { rows } = await postgres.raw<{ rows: Row[] }>(lookUp, { projectId, ids, names, hashes });
  return new Map(rows.map(({ wanted, id, slug, versions }) => [wanted, { id, slug, versions: versions ?? [] }]));
}

export interface PromptNames {
  id: string;
  slug: string;
  name: string;
  templateKeys: string[];
}

/**
 * Returns the names of prompts by id: slug, name and the keys of their `textsMax` newest texts. A
 * prompt that does not exist is absent.
 * @throws UnavailableError while Postgres is unavailable
 */
export async function findPromptNames(
  postgres: Postgres,
  projectId: string,
  promptIds: readonly string[],
  textsMax: number,
): Promise<Map<string, PromptNames>> {
  const { rows } = await postgres.raw<{ rows: PromptNames[] }>(
    `select id, slug, name, array(
       select 'sha256:' || template_hash from prompt_versions
       where project_id = :projectId and prompt_id = prompts.id and template_hash is not null
       group by template_hash order by max(version) desc limit :textsMax) as "templateKeys"
     from prompts where project_id = :projectId and id = any(:promptIds)`,
    { projectId, promptIds: [...promptIds], textsMax },
  );
  return new Map(rows.map((row) => [row.id, row]));
}
