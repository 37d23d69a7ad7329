import type { Knex } from 'knex';

/**
 * Prompts, their immutable versions, and the labels that point at versions. Deleted prompts stay,
 * because executions keep their link. Columns are json, which keeps the order of properties.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    create extension if not exists pg_trgm;
    create extension if not exists btree_gin;

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
      -- counts every change of the prompt and its labels, for entity tags
      revision integer not null default 1,
      search text generated always as (lower(name || ' ' || slug || ' ' || coalesce(description, ''))) stored,
      unique (project_id, id)
    );
    create unique index prompts_live_slug on prompts (project_id, slug) where deleted_at is null;
    create index prompts_by_slug on prompts (project_id, slug);
    create index prompts_by_name on prompts (project_id, name, id);
    create index prompts_by_update on prompts (project_id, updated_at desc, id desc) where deleted_at is null;
    create index prompts_by_creation on prompts (project_id, created_at desc, id desc) where deleted_at is null;
    create index prompts_by_words on prompts using gin (project_id, search gin_trgm_ops) where deleted_at is null;
    create index prompts_by_tag on prompts using gin (project_id, tags) where deleted_at is null;

    create table prompt_versions (
      project_id text not null,
      prompt_id text not null,
      version integer not null check (version >= 1),
      template text,
      messages json,
      template_format text not null check (template_format in ('mustache', 'liquid', 'plain')),
      config json,
      input_schema json,
      commit_message text,
      kind text not null check (kind in ('create', 'update', 'rollback', 'optimization', 'import')),
      parent_version integer,
      rolled_back_from integer,
      optimization_run_id text,
      content_hash text not null check (content_hash ~ '^[0-9a-f]{64}$'),
      -- SHA-256 of the template's text alone; spans that carry only the text find their prompt by it
      template_hash text check (template_hash ~ '^[0-9a-f]{64}$'),
      author_type text not null,
      author_id text,
      created_at timestamptz not null default now(),
      -- who imported the version and when: its author, kind and time are what the import claims
      imported_at timestamptz,
      imported_by_type text,
      imported_by_id text,
      primary key (prompt_id, version),
      foreign key (project_id, prompt_id) references prompts (project_id, id),
      check ((template is null) <> (messages is null)),
      check ((template is null) = (template_hash is null)),
      constraint prompt_versions_imported_by check ((imported_at is null) = (imported_by_type is null))
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
    create index prompt_labels_by_label on prompt_labels (project_id, label, prompt_id);

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
  await knex.raw('drop table prompt_label_history, prompt_labels, prompt_versions, prompts;');
}
