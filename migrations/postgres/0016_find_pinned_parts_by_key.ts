import type { Knex } from 'knex';

/** A tag that names a version finds it by the primary key, and does not compare all versions of the part. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(partEdges('version = cast(pin as integer)', "pin ~ '^0*[0-9]{1,9}$'"));
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(partEdges("version::text = ltrim(pin, '0')", "pin ~ '^[0-9]+$'"));
}

function partEdges(isPinned: string, isNumber: string): string {
  return `
    create or replace view part_edges as
      select part_uses.project_id, user_kind, user_id, user_version, part_uses.slug, pin, parts.id as part_id,
        case
          when pin in ('', 'latest') then parts.latest_version
          when ${isNumber} then (select version from part_versions where part_id = parts.id and ${isPinned})
          else (select version from part_labels where part_id = parts.id and label = pin)
        end as part_version
      from part_uses
      join parts on parts.project_id = part_uses.project_id and parts.slug = part_uses.slug and parts.deleted_at is null`;
}
