import type { Knex } from 'knex';

/** Prompts, their immutable versions, and the labels that point at versions. Deleted prompts stay: executions keep their link. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    create table prompts (
      id text primary key,
      project_id text not null references projects (id),
      slug text not null check (length(slug) between 1 and 200),
      name text not null check (length(name) between 1 and 200),
      description text,
      type text not null check (type in ('text', 'chat')),
      tags text[] not null default '{}',
      latest_version integer not null check (latest_version >= 1),
      created_at timestamptz not null default now(),
      updated_at timestamptz not null default now(),
      deleted_at timestamptz,
      unique (project_id, id)
    );
    create unique index prompts_live_slug on prompts (project_id, slug) where deleted_at is null;
    create index prompts_by_slug on prompts (project_id, slug);
    create index prompts_by_name on prompts (project_id, name, id);
    create index prompts_by_update on prompts (project_id, updated_at desc, id desc) where deleted_at is null;

    create table prompt_versions (
      project_id text not null,
      prompt_id text not null,
      version integer not null check (version >= 1),
      template text,
      messages jsonb,
      template_format text not null check (template_format in ('mustache', 'liquid', 'plain')),
      config jsonb,
      input_schema jsonb,
      commit_message text,
      kind text not null check (kind in ('create', 'update', 'rollback', 'optimization', 'import')),
      parent_version integer,
      rolled_back_from integer,
      optimization_run_id text,
      content_hash text not null check (content_hash ~ '^[0-9a-f]{64}$'),
      -- SHA-256 of the template's text alone, by which spans that carry only the text find their prompt
      template_hash text check (template_hash ~ '^[0-9a-f]{64}$'),
      author_type text not null,
      author_id text,
      created_at timestamptz not null default now(),
      primary key (prompt_id, version),
      foreign key (project_id, prompt_id) references prompts (project_id, id),
      check ((template is null) <> (messages is null)),
      check ((template is null) = (template_hash is null))
    );
    create index prompt_versions_by_template on prompt_versions (project_id, template_hash) where template_hash is not null;

    create table prompt_labels (
      project_id text not null,
      prompt_id text not null,
      label text not null check (label ~ '^[a-z][a-z0-9_.-]{0,35}$' and label <> 'latest'),
      version integer not null,
      updated_at timestamptz not null default now(),
      primary key (prompt_id, label),
      foreign key (project_id, prompt_id) references prompts (project_id, id),
      foreign key (prompt_id, version) references prompt_versions (prompt_id, version)
    );

    create table prompt_label_history (
      id bigint generated always as identity primary key,
      project_id text not null,
      prompt_id text not null,
      label text not null,
      -- null when the label was removed
      version integer,
      author_type text not null,
      author_id text,
      at timestamptz not null default now(),
      foreign key (project_id, prompt_id) references prompts (project_id, id)
    );
    create index prompt_label_history_by_label on prompt_label_history (project_id, prompt_id, label, id desc);
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(
    'drop table prompt_label_history; drop table prompt_labels; drop table prompt_versions; drop table prompts;',
  );
}
