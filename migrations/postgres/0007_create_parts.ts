import type { Knex } from 'knex';

/** Parts, which have versions and labels as prompts do, and which version includes which part. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    create table parts (
      id text primary key,
      project_id text not null references projects (id),
      slug text not null check (length(slug) between 1 and 200),
      name text not null check (length(name) between 1 and 200),
      description text,
      tags text[] not null default '{}',
      latest_version integer not null check (latest_version >= 1),
      revision integer not null default 1,
      created_at timestamptz not null default now(),
      updated_at timestamptz not null default now(),
      deleted_at timestamptz,
      search text generated always as (lower(name || ' ' || slug || ' ' || coalesce(description, ''))) stored,
      unique (project_id, id)
    );
    create unique index parts_live_slug on parts (project_id, slug) where deleted_at is null;
    create index parts_by_name on parts (project_id, name, id);
    create index parts_by_update on parts (project_id, updated_at desc, id desc) where deleted_at is null;
    create index parts_by_creation on parts (project_id, created_at desc, id desc) where deleted_at is null;
    create index parts_by_words on parts using gin (project_id, search gin_trgm_ops) where deleted_at is null;
    create index parts_by_tag on parts using gin (project_id, tags) where deleted_at is null;

    create table part_versions (
      project_id text not null,
      part_id text not null,
      version integer not null check (version >= 1),
      template text not null,
      template_format text not null check (template_format in ('mustache', 'liquid', 'plain')),
      commit_message text,
      kind text not null check (kind in ('create', 'update', 'rollback', 'import')),
      parent_version integer,
      rolled_back_from integer,
      content_hash text not null check (content_hash ~ '^[0-9a-f]{64}$'),
      author_type text not null,
      author_id text,
      created_at timestamptz not null default now(),
      -- who imported the version and when: its author, kind and time are what the import claims
      imported_at timestamptz,
      imported_by_type text,
      imported_by_id text,
      primary key (part_id, version),
      foreign key (project_id, part_id) references parts (project_id, id),
      constraint part_versions_imported_by check ((imported_at is null) = (imported_by_type is null))
    );

    create table part_labels (
      project_id text not null,
      part_id text not null,
      label text not null check (label ~ '^[a-z][a-z0-9_.-]{0,35}$' and label <> 'latest'),
      version integer not null,
      updated_at timestamptz not null default now(),
      primary key (part_id, label),
      foreign key (project_id, part_id) references parts (project_id, id),
      foreign key (part_id, version) references part_versions (part_id, version)
    );
    create index part_labels_by_label on part_labels (project_id, label, part_id);

    create table part_label_history (
      id bigint generated always as identity primary key,
      project_id text not null,
      part_id text not null,
      label text not null,
      -- null when the label was removed
      version integer,
      author_type text not null,
      author_id text,
      at timestamptz not null default now(),
      foreign key (project_id, part_id) references parts (project_id, id)
    );
    create index part_label_history_by_label on part_label_history (project_id, part_id, label, id desc);

    -- the part tags of every version, as they are written
    create table part_uses (
      project_id text not null references projects (id),
      user_kind text not null check (user_kind in ('prompt', 'part')),
      user_id text not null,
      user_version integer not null,
      slug text not null,
      -- '' for the newest version, digits for that version, else a label
      pin text not null,
      primary key (user_kind, user_id, user_version, slug, pin)
    );
    create index part_uses_by_slug on part_uses (project_id, slug);

    -- what those tags mean now; part_version is null where the part has no such version or label
    create view part_edges as
      select part_uses.project_id, user_kind, user_id, user_version, part_uses.slug, pin, parts.id as part_id,
        case
          when pin in ('', 'latest') then parts.latest_version
          when pin ~ '^[0-9]+$' then (
            select version from part_versions where part_id = parts.id and version::text = ltrim(pin, '0'))
          else (select version from part_labels where part_id = parts.id and label = pin)
        end as part_version
      from part_uses
      join parts on parts.project_id = part_uses.project_id and parts.slug = part_uses.slug and parts.deleted_at is null;

    -- every part version that a prompt version included, directly or through others, when it was saved
    create table prompt_version_parts (
      project_id text not null,
      prompt_id text not null,
      version integer not null,
      part_id text not null,
      part_version integer not null,
      primary key (prompt_id, version, part_id, part_version),
      foreign key (prompt_id, version) references prompt_versions (prompt_id, version),
      foreign key (part_id, part_version) references part_versions (part_id, version)
    );
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    drop table prompt_version_parts;
    drop view part_edges;
    drop table part_uses, part_label_history, part_labels, part_versions, parts;
  `);
}
