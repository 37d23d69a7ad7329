import type { Knex } from 'knex';

/**
 * Users and who may do what where. Identity providers report out of order and more than once, so rows keep the time of the
 * provider's last word, removed ones stay as tombstones, and a user or an organisation may be known before its own event arrives.
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

    alter table workspaces
      add column kind text not null default 'organization' check (kind in ('personal', 'organization')),
      -- the identity provider's organisation id, a token's org_id
      add column external_org_id text unique check (length(external_org_id) between 1 and 255),
      -- of a personal workspace
      add column owner_user_id text unique references users (id),
      -- {"rate_limits": {...}, "quotas": {...}, "retention_days": n}: what an operator changed from the plan
      add column plan_overrides jsonb not null default '{}',
      add column source_updated_at timestamptz,
      add column deleted_at timestamptz;

    alter table projects add column is_default boolean not null default false;
    create unique index projects_one_default on projects (workspace_id) where is_default;

    create table memberships (
      workspace_id text not null references workspaces (id),
      user_id text not null references users (id),
      role text not null check (role in ('owner', 'admin', 'member', 'viewer')),
      created_at timestamptz not null default now(),
      source_updated_at timestamptz,
      removed_at timestamptz,
      primary key (workspace_id, user_id)
    );
    create index memberships_by_user on memberships (user_id) where removed_at is null;

    -- every event of a provider that was applied, in the transaction of its effect; pruned after 30 days
    create table identity_events (
      provider text not null,
      event_id text not null check (length(event_id) between 1 and 255),
      type text not null,
      occurred_at timestamptz not null,
      outcome text not null,
      received_at timestamptz not null default now(),
      primary key (provider, event_id)
    );
    create index identity_events_by_receipt on identity_events (received_at);

    -- security-relevant acts, written in their transaction
    create table audit_log (
      id text primary key,
      workspace_id text references workspaces (id),
      project_id text references projects (id),
      actor_type text not null check (actor_type in ('user', 'api_key', 'admin', 'identity_provider', 'system')),
      actor_id text,
      action text not null,
      target_type text not null,
      target_id text not null,
      details jsonb not null default '{}',
      request_id text,
      at timestamptz not null default now()
    );
    create index audit_log_by_workspace on audit_log (workspace_id, at desc, id desc);
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    drop table audit_log;
    drop table identity_events;
    drop table memberships;
    alter table projects drop column is_default;
    alter table workspaces drop column kind, drop column external_org_id, drop column owner_user_id,
      drop column plan_overrides, drop column source_updated_at, drop column deleted_at;
    drop table users;
  `);
}
