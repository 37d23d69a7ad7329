import type { Knex } from 'knex';

/**
 * Users, workspaces, their projects and members. Identity providers report late, twice and out of
 * order, so rows keep the time of the provider's last report and removed rows stay.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    create table users (
      id text primary key,
      -- the identity provider's user id, a token's sub
      subject text not null unique check (length(subject) between 1 and 255),
      email text,
      name text,
      created_at timestamptz not null default now(),
      source_updated_at timestamptz,
      deleted_at timestamptz
    );

    create table workspaces (
      id text primary key,
      name text not null check (length(name) between 1 and 200),
      plan text not null,
      created_at timestamptz not null default now(),
      kind text not null default 'organization' check (kind in ('personal', 'organization')),
      -- the identity provider's organization id, a token's org_id
      external_org_id text unique check (length(external_org_id) between 1 and 255),
      -- of a personal workspace
      owner_user_id text unique references users (id),
      -- {"rate_limits": {...}, "quotas": {...}, "retention_days": n}, which the operator sets
      plan_overrides jsonb not null default '{}',
      source_updated_at timestamptz,
      deleted_at timestamptz,
      -- the provider's id of the user who created the organization
      creator_subject text
    );

    create table projects (
      id text primary key,
      workspace_id text not null references workspaces (id),
      name text not null check (length(name) between 1 and 200),
      created_at timestamptz not null default now(),
      is_default boolean not null default false,
      unique (workspace_id, name)
    );
    create unique index projects_one_default on projects (workspace_id) where is_default;

    -- role and removed_at are in force; the source columns keep the last report of the provider or
    -- of a member. They differ for the creator of an organization and for a last owner, who stays.
    -- With both, events lead to the same state in any order.
    create table memberships (
      workspace_id text not null references workspaces (id),
      user_id text not null references users (id),
      role text not null check (role in ('owner', 'admin', 'member', 'viewer')),
      created_at timestamptz not null default now(),
      source_updated_at timestamptz,
      removed_at timestamptz,
      -- null until there is a report after the membership's creation; source_updated_at is its time
      source_role text check (source_role in ('owner', 'admin', 'member', 'viewer')),
      source_removed boolean,
      -- a member made the change here, so being the organization's creator does not count
      source_is_member boolean not null default false,
      -- the strongest role ever given, by late and outdated events too
      strongest_role text check (strongest_role in ('owner', 'admin', 'member', 'viewer')),
      primary key (workspace_id, user_id)
    );
    create index memberships_by_user on memberships (user_id) where removed_at is null;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop table memberships, projects, workspaces, users;');
}
